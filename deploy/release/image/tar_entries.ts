/**
 * Tar archives whose bytes depend only on their content: file times that depend on the moment of the build are
 * replaced, and new entries belong to root.
 */
import { Buffer } from "node:buffer";

const block = 512;
/** Offsets of fields in a header (pubs.opengroup.org: pax, "ustar Interchange Format"). */
const fields = { name: 0, mode: 100, uid: 108, gid: 116, size: 124, mtime: 136, checksum: 148, type: 156, magic: 257 };
const extended = ["x", "g"];

/** Rule for file times, in epoch seconds. */
export interface TimeLaw {
  latest: number;
  /**
   * Whether all times are set to `latest`, not only times after it. The layers that a build adds need this, because the
   * files of build steps that the engine cached have the times of an earlier build.
   */
  isOnly: boolean;
}

/** Yields the archive with file times changed according to the rule; the contents of files are unchanged. */
export async function* withLawfulTimes(
  source: AsyncIterable<Uint8Array>,
  { latest, isOnly }: TimeLaw,
): AsyncGenerator<Buffer> {
  const reader = new ByteReader(source);
  for (;;) {
    const header = await reader.exactly(block);
    if (header === undefined) return;
    const size = numberAt(header, fields.size, 12);
    if (extended.includes(String.fromCharCode(header[fields.type] ?? 0))) {
      const body = await reader.exactly(padded(size)) ?? Buffer.alloc(0);
      yield* extendedEntry(header, recordsWithoutTimes(body.subarray(0, size)));
      continue;
    }
    const isEntry = header.some((byte) => byte !== 0);
    if (isEntry && (isOnly || numberAt(header, fields.mtime, 12) > latest)) setNumber(header, fields.mtime, latest);
    yield sealed(header);
    yield* reader.upTo(padded(size));
  }
}

/** Returns the entry of a regular file owned by root, or of a folder if `content` is undefined. */
export function entryOf(name: string, content: Uint8Array | { size: number } | undefined, mtime: number): Buffer {
  const header = Buffer.alloc(block);
  header.write(name, fields.name);
  header.write(content === undefined ? "0000755\0" : "0000644\0", fields.mode);
  for (const field of [fields.uid, fields.gid]) header.write("0000000\0", field);
  const size = content === undefined ? 0 : "size" in content ? content.size : content.length;
  setNumber(header, fields.size, size);
  setNumber(header, fields.mtime, mtime);
  header.write(content === undefined ? "5" : "0", fields.type);
  header.write("ustar\x0000", fields.magic, "latin1");
  return content instanceof Uint8Array ? Buffer.concat([sealed(header), content, padding(size)]) : sealed(header);
}

/** Returns the zeros that fill the last block of an entry with this many bytes. */
export function padding(size: number): Buffer {
  return Buffer.alloc(padded(size) - size);
}

/** The end of an archive: two empty blocks. */
export const endOfArchive = Buffer.alloc(2 * block);

function padded(size: number): number {
  return Math.ceil(size / block) * block;
}

function* extendedEntry(header: Buffer, body: Buffer): Generator<Buffer> {
  setNumber(header, fields.size, body.length);
  setNumber(header, fields.mtime, 0);
  yield sealed(header);
  yield Buffer.concat([body, padding(body.length)]);
}

/** Each record is its own length in decimal, a space, key=value, and a line end; values may be binary. */
function recordsWithoutTimes(body: Buffer): Buffer {
  const kept: Buffer[] = [];
  for (let at = 0; at < body.length;) {
    const length = parseInt(body.toString("latin1", at, at + 12), 10);
    if (!(length > 0)) throw new Error("Failed to read the layer: a record of an extended header has no length");
    const record = body.subarray(at, at + length);
    if (!/^\d+ [amc]time=/.test(record.toString("latin1"))) kept.push(record);
    at += length;
  }
  return Buffer.concat(kept);
}

function numberAt(header: Buffer, at: number, length: number): number {
  // A number that does not fit into octal digits is binary, marked by the first bit.
  if ((header[at] ?? 0) & 0x80) return Number(header.readBigUInt64BE(at + length - 8));
  return parseInt(header.toString("latin1", at, at + length).replace(/[\0 ].*$/s, "") || "0", 8);
}

function setNumber(header: Buffer, at: number, value: number): void {
  const text = value.toString(8).padStart(11, "0");
  if (text.length > 11) throw new Error(`Failed to write a tar header: ${value} does not fit into 11 octal digits`);
  header.write(`${text}\0`, at, "latin1");
}

/** Returns the header with its checksum, computed with spaces in the checksum field; end blocks have no checksum. */
function sealed(header: Buffer): Buffer {
  if (header.every((byte) => byte === 0)) return header;
  header.fill(" ", fields.checksum, fields.checksum + 8);
  const sum = header.reduce((sum, byte) => sum + byte, 0);
  header.write(`${sum.toString(8).padStart(6, "0")}\0 `, fields.checksum, "latin1");
  return header;
}

/** Reads a given number of bytes from chunks of any size. */
class ByteReader {
  readonly #source: AsyncIterator<Uint8Array>;
  #rest: Buffer = Buffer.alloc(0);

  constructor(source: AsyncIterable<Uint8Array>) {
    this.#source = source[Symbol.asyncIterator]();
  }

  /** Returns a copy of this many bytes; undefined at the end; throws if the source ends before `size` bytes. */
  async exactly(size: number): Promise<Buffer | undefined> {
    const parts: Buffer[] = [];
    for await (const part of this.#parts(size)) parts.push(part);
    const all = Buffer.concat(parts);
    if (all.length === 0 && size > 0) return undefined;
    if (all.length < size) throw new Error("Failed to read the layer: it ends in the middle of an entry");
    return all;
  }

  async *upTo(size: number): AsyncGenerator<Buffer> {
    let got = 0;
    for await (const part of this.#parts(size)) yield (got += part.length, part);
    if (got < size) throw new Error("Failed to read the layer: it ends in the middle of an entry");
  }

  async *#parts(size: number): AsyncGenerator<Buffer> {
    for (let open = size; open > 0;) {
      if (this.#rest.length === 0 && !await this.#fill()) return;
      const part = this.#rest.subarray(0, open);
      this.#rest = this.#rest.subarray(part.length);
      open -= part.length;
      yield part;
    }
  }

  async #fill(): Promise<boolean> {
    const { value, done } = await this.#source.next();
    if (done) return false;
    this.#rest = Buffer.from(value.buffer, value.byteOffset, value.byteLength);
    return true;
  }
}
