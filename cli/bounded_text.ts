/**
 * Texts are limited in size before they are read: a parser takes a few hundred bytes of memory for each byte of YAML.
 */
import { Buffer } from "node:buffer";
import { closeSync, createReadStream, openSync, readSync } from "node:fs";
import { UsageError } from "./usage_error.ts";

/** Maximum bytes of a file, or of standard input: etcd stores no larger object. */
export const largestText = 1.5 * 1024 * 1024;

/**
 * Returns the text of a stream; throws UsageError as soon as the stream exceeds the limit. `name` is what the message
 * calls the stream, such as "standard input".
 */
export async function readBounded(stream: AsyncIterable<Uint8Array>, name: string): Promise<string> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of stream) {
    size += chunk.length;
    if (size > largestText) throw new UsageError(`Failed to read ${name}: it exceeds the limit of 1.5 MiB`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString("utf8");
}

/** Returns the text of a file; throws UsageError for a file that is too large, and errors of the file system. */
export async function readFileBounded(path: string, name: string): Promise<string> {
  return await readBounded(createReadStream(path), name);
}

/** Returns the text of a file synchronously; throws an error with code EFBIG for a file that is too large. */
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
  throw Object.assign(new Error("it exceeds the limit of 1.5 MiB"), { code: "EFBIG" });
}
