import { createHash } from "node:crypto";
import { join } from "node:path";
import { createWriteStream } from "node:fs";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { createGzip } from "node:zlib";

/** Content of a served file: a program, or an archive of several files. */
export type Content = { readonly program: string } | {
  readonly members: readonly ArchiveMember[];
  readonly gzip: boolean;
};

/** A file that is ready to be served; `sha256` is in hex, `size` in bytes. */
export interface StoredFile {
  readonly path: string;
  readonly sha256: string;
  readonly size: number;
}

/**
 * Returns the path, SHA-256 and size of a program, or of an archive of several programs. Writes the archive and the
 * checksum atomically, and reuses them while the programs are unchanged.
 */
export async function storeFile(directory: string, content: Content): Promise<StoredFile> {
  const folder = join(directory, await identityOf(content));
  const path = "program" in content ? content.program : join(folder, "file");
  const kept = await readSum(folder);
  if (kept !== undefined) return { path, ...kept };
  await Deno.mkdir(directory, { recursive: true });
  const work = await Deno.makeTempDir({ dir: directory, prefix: ".work-" });
  try {
    if ("members" in content) await writeArchive(join(work, "file"), content.members, content);
    const sum = await sumOf("program" in content ? path : join(work, "file"));
    await Deno.writeTextFile(join(work, "sum.json"), JSON.stringify(sum));
    await moveInto(folder, work);
    return { path, ...sum };
  } finally {
    await Deno.remove(work, { recursive: true }).catch(() => {});
  }
}

/** Moves the work folder into place, unless a concurrent run has stored the same bytes. */
async function moveInto(folder: string, work: string): Promise<void> {
  try {
    await Deno.rename(work, folder);
  } catch (error) {
    if (await readSum(folder) === undefined) throw error;
  }
}

type Sum = Omit<StoredFile, "path">;

async function readSum(folder: string): Promise<Sum | undefined> {
  try {
    return JSON.parse(await Deno.readTextFile(join(folder, "sum.json")));
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return undefined;
    throw error;
  }
}

async function sumOf(path: string): Promise<Sum> {
  const hash = createHash("sha256");
  let size = 0;
  for await (const chunk of (await Deno.open(path)).readable) {
    hash.update(chunk);
    size += chunk.length;
  }
  return { sha256: hash.digest("hex"), size };
}

/**
 * Returns an id of the content, which also changes when a program is rebuilt at the same path.
 */
async function identityOf(content: Content): Promise<string> {
  const paths = "program" in content ? [content.program] : content.members.map(({ path }) => path);
  const states = await Promise.all(paths.map((path) => Deno.stat(path)));
  const facts = states.map(({ size, mtime }) => [size, mtime?.getTime()]);
  return createHash("sha256").update(JSON.stringify({ content, facts })).digest("hex").slice(0, 16);
}

/** A file in an archive, executable by all and owned by root. */
interface ArchiveMember {
  /** Path in the archive, at most 100 bytes. */
  readonly name: string;
  /** Path of the source file. */
  readonly path: string;
}

const block = 512;

/** Writes a reproducible tar archive, optionally gzipped. */
async function writeArchive(
  target: string,
  members: readonly ArchiveMember[],
  { gzip }: { gzip: boolean },
): Promise<void> {
  const tar = Readable.from(tarChunks(members));
  // The archive is unpacked on the same host, so speed matters more than size.
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

/** Returns the header of one file in the ustar format. */
function tarHeader(name: string, size: number): Uint8Array {
  if (new TextEncoder().encode(name).length > 100) {
    throw new Error(`Failed to pack "${name}": the name has more than 100 bytes`);
  }
  const header = new Uint8Array(block);
  const write = (at: number, text: string): void => void new TextEncoder().encodeInto(text, header.subarray(at));
  const octal = (value: number, width: number): string => `${value.toString(8).padStart(width - 1, "0")}\0`;
  write(0, name);
  // Mode, user, group, size, modification time; then the checksum field as blanks, and the type of a regular file.
  write(100, octal(0o755, 8) + octal(0, 8) + octal(0, 8) + octal(size, 12) + octal(0, 12) + " ".repeat(8) + "0");
  write(257, "ustar\x0000");
  write(148, `${octal(header.reduce((sum, byte) => sum + byte, 0), 7)} `);
  return header;
}
