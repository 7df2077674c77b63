/** Reproducible archives: the same files result in the same bytes at any time and for any user. */
import { Buffer } from "node:buffer";
import { gunzipSync, gzipSync } from "node:zlib";

const block = 512;
/** Offset and length of fields in a tar header. */
const fields = { size: [124, 12], time: [136, 12], sum: [148, 8] } as const;

/**
 * Returns the archive (.tgz) with one time, in epoch seconds, for all files; header fields beyond ustar are unchanged.
 */
export function atOneTime(archive: Uint8Array, time: number): Uint8Array {
  const tar = Buffer.from(gunzipSync(archive));
  for (let at = 0; at + block <= tar.length && tar[at] !== 0;) {
    const header = tar.subarray(at, at + block);
    write(header, fields.time, `${time.toString(8).padStart(11, "0")}\0`);
    write(header, fields.sum, " ".repeat(8));
    const sum = header.reduce((all, byte) => all + byte, 0);
    write(header, fields.sum, `${sum.toString(8).padStart(6, "0")}\0 `);
    const size = parseInt(header.toString("latin1", fields.size[0], fields.size[0] + fields.size[1]), 8);
    at += block + Math.ceil(size / block) * block;
  }
  // The operating system in the gzip header depends on the zlib library, so it is set to 255, unknown.
  const packed = gzipSync(tar, { level: 9 });
  packed[9] = 255;
  return packed;
}

function write(header: Buffer, [at, length]: readonly [number, number], text: string): void {
  header.write(text, at, length, "latin1");
}
