import { createWriteStream } from "node:fs";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { createGzip } from "node:zlib";

/** A file to be packed, executable by all and owned by root. */
export interface ArchiveMember {
  /** Its path in the archive, at most 100 bytes. */
  readonly name: string;
  /** Where its bytes are. */
  readonly path: string;
}

const block = 512;

/** Writes a tar archive, gzipped or not; the same files give the same bytes. */
export async function writeArchive(
  target: string,
  members: readonly ArchiveMember[],
  { gzip }: { gzip: boolean },
): Promise<void> {
  const tar = Readable.from(tarChunks(members));
  // It is unpacked on this very computer: speed beats size.
  if (gzip) await pipeline(tar, createGzip({ level: 1 }), createWriteStream(target));
  else await pipeline(tar, createWriteStream(target));
}

async function* tarChunks(members: readonly ArchiveMember[]): AsyncGenerator<Uint8Array> {
  for (const { name, path } of members) {
    const { size } = await Deno.stat(path);
    yield tarHeader(name, size);
    using file = await Deno.open(path);
    yield* file.readable.values({ preventCancel: true });
    yield new Uint8Array(-size & (block - 1));
  }
  yield new Uint8Array(2 * block);
}

/** The header of one file, in the ustar form that every tar reads. */
export function tarHeader(name: string, size: number): Uint8Array {
  if (new TextEncoder().encode(name).length > 100) throw new Error(`Cannot pack "${name}": the name is too long`);
  const header = new Uint8Array(block);
  const write = (at: number, text: string): void => void new TextEncoder().encodeInto(text, header.subarray(at));
  const octal = (value: number, width: number): string => `${value.toString(8).padStart(width - 1, "0")}\0`;
  write(0, name);
  // Mode, user, group, size, time of change; then the checksum as if it were blanks, and a regular file's type.
  write(100, octal(0o755, 8) + octal(0, 8) + octal(0, 8) + octal(size, 12) + octal(0, 12) + " ".repeat(8) + "0");
  write(257, "ustar\x0000");
  write(148, `${octal(header.reduce((sum, byte) => sum + byte, 0), 7)} `);
  return header;
}
