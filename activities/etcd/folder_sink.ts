/** Snapshots in a directory of the worker. */
import { randomUUID } from "node:crypto";
import { open, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { unavailable } from "../failures.ts";
import type { SnapshotSink } from "./snapshot.ts";

/** Each is a file that only the worker's user reads, and has its name once it is whole. The directory has to be there. */
export function folderSink(folder: string): SnapshotSink {
  return {
    async write(name, bytes): Promise<void> {
      // Of its own, as another try may still be at work.
      const temporary = join(folder, `.${name}.${randomUUID()}`);
      try {
        await fill(temporary, bytes);
        await onDisk(folder, rename(temporary, join(folder, name)));
      } catch (error) {
        await rm(temporary, { force: true }).catch(() => undefined); // the first failure tells more
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

/** What the disk says is told apart from what the bytes end with. */
async function onDisk<T>(folder: string, work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    // Deno's own, of a process that may not write there, has none.
    const code = error instanceof Error ? ("code" in error ? String(error.code) : error.name) : "no reason given";
    throw unavailable(`Failed to store an etcd snapshot in "${folder}": ${code}`);
  }
}
