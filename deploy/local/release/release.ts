/** One release, part by part. */
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { notesOf } from "./changelog.ts";
import { packChart, writeManifests } from "./chart_part.ts";
import { writeChecksums } from "./checksums.ts";
import { packCommand } from "./cli_part.ts";
import { makeImage } from "./image_part.ts";
import type { ReleaseOptions } from "./options.ts";
import { requireRecord } from "./recorded.ts";
import { readSource, root } from "./source.ts";

interface Tools {
  readonly helm: string;
  readonly kubectl: string;
}

/** Makes all of it; `say` is told of each file, and of what was left out. Throws where a part cannot be made. */
export async function makeRelease(
  options: ReleaseOptions,
  tools: Tools,
  say: (text: string) => void,
): Promise<void> {
  const source = await readSource();
  const notes = notesOf(await readFile(join(root, "CHANGELOG.md"), "utf8"), source, options.isDraft);
  if (!options.isDraft) await requireRecord(tools.helm, source.version);
  const output = resolve(options.output);
  await mkdir(output, { recursive: true });
  const made: string[] = [];
  const add = (names: readonly string[]): void => {
    made.push(...names);
    for (const name of names) say(name);
  };
  await writeFile(join(output, `NOTES-${source.version}.md`), `${notes}\n`);
  add([`NOTES-${source.version}.md`, ...await packChart(tools, source, output)]);
  add(await writeManifests(tools, source, output));
  if (options.without.includes("cli")) say("without the command");
  else for (const target of options.targets) add([await orWithout("cli", packCommand(target, source, output))].flat());
  if (options.without.includes("image")) say("without the image");
  else add(await orWithout("image", makeImage(source, output)));
  await writeChecksums(output, made);
  say("SHA256SUMS");
}

async function orWithout<T>(part: string, work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    throw new Error(
      `${(error as Error).message}; --without ${part} leaves it out${part === "cli" ? ", --targets some of it" : ""}`,
      { cause: error },
    );
  }
}
