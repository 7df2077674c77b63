import { readdir } from "node:fs/promises";
import { run, type Source } from "./source.ts";

/** Builds the image by `deno task image`, which needs a Docker engine; returns the names of the new files. */
export async function makeImage({ version, commit }: Source, output: string): Promise<string[]> {
  const before = await readdir(output);
  const flags = ["--version", version, "--revision", commit, "--output", output];
  await run(Deno.execPath(), ["task", "--quiet", "image", ...flags]);
  return (await readdir(output)).filter((name) => !before.includes(name));
}
