/** Stores snapshots in a directory of the worker. */
import { randomUUID } from "node:crypto";
import { open, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { unavailable } from "../failures.ts";
import type { SnapshotSink } from "./snapshot.ts";

/**
 * Returns a sink whose files only the worker's user can read, and which get their name once they are complete. The
 * directory must exist.
 */
export function folderSink(folder: string): SnapshotSink {
  return {
    async write(name, bytes): Promise<void> {
      // A unique name, because an earlier attempt may still be writing.
      const temporary = join(folder, `.${name}.${randomUUID()}`);
      try {
        await fill(temporary, bytes);
        await onDisk(folder, rename(temporary, join(folder, name)));
      } catch (error) {
        await rm(temporary, { force: true }).catch(() => undefined); // not thrown: the first error shows the cause
        throw error;
      }
    },
  };
}

async function fill(path: string, bytes: AsyncIterable<Uint8Array>): Promise<void> {
  const folder = join(path, "..");
  const file = await onDisk(folder, open(path, "wx", 0o600));
  try {
    for await (const piece of bytes) await onDisk(folder, file.writeFile(piece));
    await onDisk(folder, file.sync());
  } finally {
    await file.close();
  }
}

/**
 * Returns the result of one operation on the disk, and throws its error as Transient. Errors of etcd, the source of the
 * bytes, do not pass through this function and are thrown unchanged.
 */
async function onDisk<T>(folder: string, work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    // Deno's error for a missing permission has a name but not a code.
    const code = error instanceof Error ? ("code" in error ? String(error.code) : error.name) : "no reason given";
    throw unavailable(`Failed to store an etcd snapshot in "${folder}": ${code}`);
  }
}
