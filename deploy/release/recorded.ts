/** The objects that each version installs are recorded permanently, because later versions are tested against them. */
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { plainValues } from "./chart/plain_manifests.ts";
import { renderChart } from "./chart/render_chart.ts";
import { root } from "./source.ts";

/** Folder of the records: VERSION.yaml, and VERSION-2.yaml if the objects changed before the release. */
export const recordsFolder = join(root, "test/replay/manifests");

/** Returns the objects that this version installs, in the format of a record. */
export async function installedText(helm: string): Promise<string> {
  const objects = await renderChart({ helm, set: plainValues });
  return `# Recorded by deno task replay:record; never changed.\n${objects.map(({ text }) => text).join("---\n")}`;
}

/** Returns the names of a version's records, oldest first. */
export async function recordsOf(version: string): Promise<string[]> {
  const isOf = (name: string): boolean => name === `${version}.yaml` || name.startsWith(`${version}-`);
  const number = (name: string): number => Number(/-(\d+)\.yaml$/.exec(name.slice(version.length))?.[1] ?? 1);
  return (await readdir(recordsFolder)).filter(isOf).sort((one, other) => number(one) - number(other));
}

/**
 * Throws if a version has no record, or if its newest record, against which later versions are tested, differs from the
 * objects that the version installs now.
 */
export async function requireRecord(helm: string, version: string): Promise<void> {
  const newest = (await recordsOf(version)).at(-1);
  const text = newest === undefined ? "" : await readFile(join(recordsFolder, newest), "utf8");
  if (text === await installedText(helm)) return;
  throw new Error(
    `Failed to release ${version}: its manifests are not recorded; run deno task replay:record, or use --draft`,
  );
}
