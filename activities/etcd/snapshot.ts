/** A snapshot of an etcd, from one member to where it is kept, in pieces: neither all of it nor much of it is in memory. */
import { createHash } from "node:crypto";
import type { EtcdMember, EtcdSnapshot } from "../../workflows/contracts/mod.ts";
import { unavailable } from "../failures.ts";
import type { EtcdAccess } from "./access.ts";
import { EtcdConnection } from "./connection.ts";
import { failureOf } from "./fault.ts";
import { checkedBytes } from "./snapshot_check.ts";
import { snapshotPieces } from "./snapshot_stream.ts";

/** Where a snapshot is kept. */
export interface SnapshotSink {
  /**
   * Keeps all bytes under that name, or nothing: where they end with an error, as they do when they are not whole, what was
   * written is not to be taken for a snapshot.
   */
  write(name: string, bytes: AsyncIterable<Uint8Array>): Promise<void>;
}

export interface SnapshotOrder {
  /** Of the file; letters, digits, `.`, `_` and `-`. */
  name: string;
  sink: SnapshotSink;
  /** Told after each piece how many bytes went through, for heartbeats. */
  progress?: (bytes: number) => void;
}

/**
 * Takes one from that very member and keeps it, checked: that it is whole, and by the digest that etcd appends. It ends
 * after a minute in which nothing moved, or when the activity is cancelled.
 */
export async function takeSnapshot(
  access: EtcdAccess,
  { name: member, endpoint }: Pick<EtcdMember, "name" | "endpoint">,
  { name, sink, progress = () => {} }: SnapshotOrder,
): Promise<EtcdSnapshot> {
  const attempt = `take etcd snapshot "${name}" from member "${member}"`;
  if (!/^[A-Za-z0-9][A-Za-z0-9._-]{0,199}$/.test(name)) {
    throw new Error(`Failed to ${attempt}: the name is not a valid file name`);
  }
  if (endpoint === undefined) throw unavailable(`Failed to ${attempt}: the member does not respond`);
  const digest = createHash("sha256");
  let size = 0;
  const counted = async function* (bytes: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
    for await (const piece of bytes) {
      yield piece;
      digest.update(piece);
      progress(size += piece.length);
    }
  };
  try {
    await new EtcdConnection(access).status(endpoint);
    const pieces = snapshotPieces({ endpoint, credentials: access.credentials });
    await sink.write(name, counted(checkedBytes(pieces, endpoint)));
    return { name, size, sha256: digest.digest("hex") };
  } catch (error) {
    throw failureOf(attempt, error);
  }
}
