/** Verifies that a snapshot is complete, by etcd's count of remaining bytes and by the digest at its end. */
import { Buffer } from "node:buffer";
import { createHash, type Hash } from "node:crypto";
import { EtcdFault } from "./fault.ts";
import type { SnapshotPiece } from "./snapshot_stream.ts";

const digestSize = 32;

/**
 * Passes the bytes on; throws after the last byte if the snapshot is incomplete or corrupted, so that the sink discards
 * it.
 */
export async function* checkedBytes(
  pieces: AsyncIterable<SnapshotPiece>,
  endpoint: string,
): AsyncGenerator<Uint8Array> {
  const odd = (state: string) => new EtcdFault("Odd", `"${endpoint}" sent a snapshot that ${state}`);
  const hash = createHash("sha256");
  // The digest is the end of the data, so the last 32 bytes that have arrived are never part of the hash.
  let tail: Uint8Array = new Uint8Array(0);
  let remaining: number | undefined;
  for await (const { bytes, remaining: told } of pieces) {
    if (remaining !== undefined && told !== Math.max(0, remaining - bytes.length)) {
      throw odd(`announces ${told} remaining bytes after ${bytes.length} of ${remaining}`);
    }
    remaining = told;
    tail = digestBut(hash, tail, bytes);
    yield bytes;
  }
  if (remaining !== 0) throw odd(remaining === undefined ? "is empty" : `ended ${remaining} bytes early`);
  if (!hash.digest().equals(tail)) throw odd("does not match the digest at its end: bytes were lost or changed");
}

/** Adds `tail` and `bytes` to the hash, except for the last 32 bytes of both together, and returns those 32 bytes. */
function digestBut(hash: Hash, tail: Uint8Array, bytes: Uint8Array): Uint8Array {
  const all = Buffer.concat([tail, bytes]);
  const end = Math.max(0, all.length - digestSize);
  hash.update(all.subarray(0, end));
  return all.subarray(end);
}
