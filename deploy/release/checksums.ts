import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { pipeline } from "node:stream/promises";

/** Writes SHA256SUMS for these files, in the format of `sha256sum --check`. */
export async function writeChecksums(folder: string, names: readonly string[]): Promise<void> {
  const lines: string[] = [];
  for (const name of names.toSorted()) lines.push(`${await digestOf(join(folder, name))}  ${name}\n`);
  await writeFile(join(folder, "SHA256SUMS"), lines.join(""));
}

/** Returns the SHA-256 of a file, in hexadecimal. */
export async function digestOf(path: string): Promise<string> {
  const hash = createHash("sha256");
  await pipeline(createReadStream(path), hash);
  return hash.digest("hex");
}
