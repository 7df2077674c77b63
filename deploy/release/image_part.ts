import { mkdtemp, readdir, readFile, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import type { BaseImage } from "./image/base_image.ts";
import { run, type Source } from "./source.ts";

/**
 * Builds the image with `deno task image`, which needs a Docker engine; returns the names of its files in
 * `output`, and the base images of the build.
 */
export async function makeImage(
  { version, commit }: Source,
  { output, snapshot }: { output: string; snapshot: string },
): Promise<{ names: string[]; bases: BaseImage[] }> {
  // An own folder, because `output` may have files of an earlier build with the same names.
  const folder = await mkdtemp(join(output, "image-"));
  try {
    const file = join(folder, "bases.json");
    const flags = ["--version", version, "--revision", commit, "--output", folder, "--snapshot", snapshot];
    await run(Deno.execPath(), ["task", "--quiet", "image", ...flags, "--bases", file]);
    const bases: BaseImage[] = JSON.parse(await readFile(file, "utf8"));
    await rm(file);
    const names = await readdir(folder);
    for (const name of names) await rename(join(folder, name), join(output, name));
    return { names, bases };
  } finally {
    await rm(folder, { recursive: true });
  }
}
