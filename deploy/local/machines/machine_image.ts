/**
 * The image from which machines boot: built once from Debian packages, and kept by the engine under the digest of its
 * recipe.
 */
import { createHash } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { GenericContainer } from "testcontainers";
import { type BaseOptions, debianBase, hasImage, proxies, suite } from "./debian_base.ts";

const recipeFolder = fileURLToPath(new URL("./image/", import.meta.url));

/**
 * Returns the name of the machine image, built first if the engine lacks it; throws an error with the engine's reason
 * if the build fails.
 */
export async function machineImage(options: BaseOptions): Promise<string> {
  const { debian } = options.archives;
  const name = `ostler-machine:${await recipeDigest(recipeFolder, [process.arch, suite, debian])}`;
  if (await hasImage(name)) return name;
  options.onProgress?.("Building the machine image from Debian packages; this takes some minutes, once");
  const base = await debianBase(options);
  options.signal?.throwIfAborted();
  const builder = GenericContainer.fromDockerfile(recipeFolder).withBuildArgs({
    BASE: base,
    ARCHIVE: options.archives.debian,
    ...proxies(options.archives),
  });
  await builder.build(name, { deleteOnExit: false }).catch((error: unknown) => {
    throw new Error(`Failed to build the machine image: ${messageOf(error)}`, { cause: error });
  });
  options.signal?.throwIfAborted();
  return name;
}

/** Returns 16 hex digits that identify a recipe by its files and other inputs of the image. */
export async function recipeDigest(recipeFolder: string, parts: readonly string[]): Promise<string> {
  const hash = createHash("sha256").update(parts.join());
  const files = await readdir(recipeFolder, { recursive: true, withFileTypes: true });
  const paths = files.filter((file) => file.isFile()).map(({ parentPath, name }) => join(parentPath, name)).sort();
  for (const path of paths) hash.update(path.slice(recipeFolder.length)).update(await readFile(path));
  return hash.digest("hex").slice(0, 16);
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
