/** Builds a release, part by part. */
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { requireCampaign } from "./campaign.ts";
import { notesOf } from "./changelog.ts";
import { packChart, writeManifests } from "./chart_part.ts";
import { writeChecksums } from "./checksums.ts";
import { packCommand } from "./cli_part.ts";
import { denoFor } from "./deno_program.ts";
import type { BaseImage } from "./image/base_image.ts";
import { makeImage } from "./image_part.ts";
import type { ReleaseOptions, Target } from "./options.ts";
import { requireRecord } from "./recorded.ts";
import { writeProvenance } from "./provenance.ts";
import { readKey, signFile, signImage, signStatement } from "./signatures.ts";
import { readSource, root, type Source } from "./source.ts";

interface Tools {
  readonly helm: string;
  readonly kubectl: string;
}

interface Making {
  readonly options: ReleaseOptions;
  readonly tools: Tools;
  readonly source: Source;
  readonly output: string;
  readonly say: (text: string) => void;
  /** The base images of Ostler's image; the part that builds the image adds them. */
  readonly bases: BaseImage[];
}

/** Builds one part of a release: writes its files, and returns their names. */
type Part = (making: Making) => Promise<string[]>;

/**
 * Builds all parts, and reports each file and each omitted part with `say`. If the command (`cli`) or the image cannot
 * be built, throws after all other parts are built.
 */
export async function makeRelease(
  options: ReleaseOptions,
  tools: Tools,
  say: (text: string) => void,
): Promise<void> {
  const source = await readSource();
  const notes = notesOf(await readFile(join(root, "CHANGELOG.md"), "utf8"), source, options.isDraft);
  if (!options.isDraft) {
    await requireRecord(tools.helm, source.version);
    await requireCampaign(source);
  }
  // The key is read before any part is built, so that a wrong key fails immediately.
  const key = options.signKey === "" ? undefined : await readKey(options.signKey);
  const output = resolve(options.output);
  await mkdir(output, { recursive: true });
  const making: Making = { options, tools, source, output, say, bases: [] };
  const made: string[] = [];
  const add = (names: string[]): void => void (made.push(...names), names.forEach(say));
  add(await writeNotes(making, notes));
  add(await packChart(tools, source, output));
  add(await writeManifests(tools, source, output));
  const failures: string[] = [];
  for (const part of optional(making)) await part(making).then(add, ({ message }) => void failures.push(message));
  const { targets, without, snapshot } = options;
  const parameters = { targets, without, snapshot };
  const provenance = await writeProvenance(output, made, { source, parameters, bases: making.bases });
  add([provenance]);
  const images = made.filter((name) => /-linux-\w+\.tar$/.test(name));
  await writeChecksums(output, made);
  add(["SHA256SUMS"]);
  if (key === undefined) say("Skipped: signatures, because no --sign-key was given");
  else {
    add([await signFile(output, "SHA256SUMS", key), await signStatement(output, provenance, key)]);
    for (const archive of images) add(await signImage(output, archive, key));
  }
  if (failures.length > 0) throw new Error(`${failures.join("\n")}\nAll other files were built`);
}

async function writeNotes({ source: { version }, output }: Making, notes: string): Promise<string[]> {
  const name = `NOTES-${version}.md`;
  await writeFile(join(output, name), `${notes}\n`);
  return [name];
}

/**
 * Returns the command and the image as parts, except those that --without names, and reports the omitted parts. Both
 * are optional, because this machine may lack the programs that build them.
 */
function optional({ options: { without, targets }, say }: Making): Part[] {
  if (without.includes("cli")) say("Skipped: ostler command");
  if (without.includes("image")) say("Skipped: image");
  return [
    ...(without.includes("cli") ? [] : targets.map(commandFor)),
    ...(without.includes("image") ? [] : [image]),
  ];
}

function commandFor(target: Target): Part {
  return async ({ options, source, output, say }) => {
    const deno = await denoFor(target, options.isNearDeno);
    if (deno !== Deno.version.deno) {
      say(`${target}: packed with Deno ${deno}, because npm has no Deno ${Deno.version.deno} for it`);
    }
    return [await packCommand({ target, deno }, source, output)];
  };
}

const image: Part = async ({ source, options: { snapshot }, output, bases: all }) => {
  try {
    const { names, bases } = await makeImage(source, { output, snapshot });
    all.push(...bases);
    return names;
  } catch (error) {
    throw new Error(`${(error as Error).message}; use --without image to leave the image out`, { cause: error });
  }
};
