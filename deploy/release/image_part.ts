import { readdir } from "node:fs/promises";
import { run, type Source } from "./source.ts";

/** Builds the image by `deno task image`, which needs a Docker engine; returns the names of the new files. */
export async function makeImage(
  { version, commit }: Source,
  { output, snapshot }: { output: string; snapshot: string },
): Promise<string[]> {
  const before = await readdir(output);
  const flags = ["--version", version, "--revision", commit, "--output", output, "--snapshot", snapshot];
  await run(Deno.execPath(), ["task", "--quiet", "image", ...flags]);
  return (await readdir(output)).filter((name) => !before.includes(name));
}
