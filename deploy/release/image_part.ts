import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { BaseImage } from "./image/base_image.ts";
import { run, type Source } from "./source.ts";

/**
 * Builds the image with `deno task image`, which needs a Docker engine; returns the names of the new files, and the
 * base images of the build.
 */
export async function makeImage(
  { version, commit }: Source,
  { output, snapshot }: { output: string; snapshot: string },
): Promise<{ names: string[]; bases: BaseImage[] }> {
  const before = await readdir(output);
  const folder = await mkdtemp(join(tmpdir(), "ostler-bases-"));
  try {
    const file = join(folder, "bases.json");
    const flags = ["--version", version, "--revision", commit, "--output", output, "--snapshot", snapshot];
    await run(Deno.execPath(), ["task", "--quiet", "image", ...flags, "--bases", file]);
    const names = (await readdir(output)).filter((name) => !before.includes(name));
    return { names, bases: JSON.parse(await readFile(file, "utf8")) };
  } finally {
    await rm(folder, { recursive: true });
  }
}
