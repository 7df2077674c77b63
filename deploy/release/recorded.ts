/** What each version installs is kept for good: the next versions are tested against it. */
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { plainValues } from "./chart/plain_manifests.ts";
import { renderChart } from "./chart/render_chart.ts";
import { root } from "./source.ts";

/** Where records are: VERSION.yaml, and VERSION-2.yaml where that changed before it was released. */
export const recordsFolder = join(root, "test/replay/manifests");

/** What this version installs, as it is recorded. */
export async function installedText(helm: string): Promise<string> {
  const objects = await renderChart({ helm, set: plainValues });
  return `# Recorded by deno task replay:record; never changed.\n${objects.map(({ text }) => text).join("---\n")}`;
}

/** The records of a version, oldest first. */
export async function recordsOf(version: string): Promise<string[]> {
  const isOf = (name: string): boolean => name === `${version}.yaml` || name.startsWith(`${version}-`);
  const number = (name: string): number => Number(/-(\d+)\.yaml$/.exec(name.slice(version.length))?.[1] ?? 1);
  return (await readdir(recordsFolder)).filter(isOf).sort((one, other) => number(one) - number(other));
}

/** Throws where what is installed now is in no record: the next version could not be tested against it. */
export async function requireRecord(helm: string, version: string): Promise<void> {
  const newest = (await recordsOf(version)).at(-1);
  const text = newest === undefined ? "" : await readFile(join(recordsFolder, newest), "utf8");
  if (text === await installedText(helm)) return;
  throw new Error(
    `Cannot release ${version}: what it installs is not recorded; run deno task replay:record, or see --draft`,
  );
}
