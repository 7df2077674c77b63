/** Streams a snapshot of an etcd in pieces from one member to a sink, so that memory holds only a few pieces. */
import { createHash } from "node:crypto";
import type { EtcdMember, EtcdSnapshot } from "../../workflows/contracts/mod.ts";
import { unavailable } from "../failures.ts";
import type { EtcdAccess } from "./access.ts";
import { EtcdConnection } from "./connection.ts";
import { failureOf } from "./fault.ts";
import { checkedBytes } from "./snapshot_check.ts";
import { snapshotPieces } from "./snapshot_stream.ts";

/** Stores snapshots, for example in a directory or on a server. */
export interface SnapshotSink {
  /**
   * Stores all bytes under the name, or nothing: if the source ends with an error, as it does for an incomplete
   * snapshot, the written part must not look like a snapshot.
   */
  write(name: string, bytes: AsyncIterable<Uint8Array>): Promise<void>;
}

interface SnapshotOrder {
  /** Name of the file: letters, digits, `.`, `_` and `-`. */
  name: string;
  sink: SnapshotSink;
  /** Receives the number of bytes so far after each piece, for heartbeats. */
  progress?: (bytes: number) => void;
}

/**
 * Takes a snapshot of this member, verifies its size and the digest that etcd appends, and stores it. Throws after a
 * minute without progress, or when the activity is cancelled.
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
  if (endpoint === undefined) throw unavailable(`Failed to ${attempt}: the etcd member does not respond`);
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
