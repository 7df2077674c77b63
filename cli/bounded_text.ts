/**
 * Texts that are refused by their size before they are read whole: a parser takes a few hundred bytes of memory for each
 * byte of YAML, and what cannot be stored need not be parsed.
 */
import { Buffer } from "node:buffer";
import { closeSync, createReadStream, openSync, readSync } from "node:fs";
import { UsageError } from "./usage_error.ts";

/** Most bytes of a file, or of standard input: etcd takes no larger object. */
export const largestText = 1.5 * 1024 * 1024;

/** The text of a stream, of which no more is read than may be; throws UsageError, in which `name` stands as it is. */
export async function readBounded(stream: AsyncIterable<Uint8Array>, name: string): Promise<string> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of stream) {
    size += chunk.length;
    if (size > largestText) throw new UsageError(`Cannot read ${name}: it has more than 1.5 MiB`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString("utf8");
}

/** The text of a file; throws as `readBounded`, and what the file system throws. */
export async function readFileBounded(path: string, name: string): Promise<string> {
  return await readBounded(createReadStream(path), name);
}

/** The same for who cannot wait; a file that is too large is an error with the code EFBIG. */
export function readFileBoundedSync(path: string): string {
  const buffer = Buffer.alloc(largestText + 1);
  const file = openSync(path, "r");
  try {
    let size = 0;
    for (let more = 1; more > 0 && size < buffer.length; size += more) {
      more = readSync(file, buffer, size, buffer.length - size, null);
    }
    if (size <= largestText) return buffer.toString("utf8", 0, size);
  } finally {
    closeSync(file);
  }
  throw Object.assign(new Error("it has more than 1.5 MiB"), { code: "EFBIG" });
}
