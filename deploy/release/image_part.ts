import { readdir } from "node:fs/promises";
import { run, type Source } from "./source.ts";

/** Has the image made by its own task, which needs a Docker engine; returns the names of what came. */
export async function makeImage({ version, commit }: Source, output: string): Promise<string[]> {
  const before = await readdir(output);
  const flags = ["--version", version, "--revision", commit, "--output", output];
  await run(Deno.execPath(), ["task", "--quiet", "image", ...flags]);
  return (await readdir(output)).filter((name) => !before.includes(name));
}
