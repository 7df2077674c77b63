/** Fetches the Deno executable for each target system from npm. */
import { cp, mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Target } from "./options.ts";
import { run } from "./source.ts";

const packages: Readonly<Record<Target, string>> = {
  "linux-amd64": "@deno/linux-x64-glibc",
  "linux-arm64": "@deno/linux-arm64-glibc",
  "darwin-amd64": "@deno/darwin-x64",
  "darwin-arm64": "@deno/darwin-arm64",
};

/**
 * Returns the version of Deno to pack: the running version or, if npm lacks it and `isNear` is set, its newest earlier
 * patch release; otherwise throws.
 */
export async function denoFor(target: Target, isNear: boolean): Promise<string> {
  const own = Deno.version.deno;
  const known = JSON.parse(await run("npm", ["view", packages[target], "versions", "--json", "--loglevel=error"]));
  const versions = [known].flat() as string[];
  if (versions.includes(own)) return own;
  const near = nearestBefore(own, versions);
  if (isNear && near !== undefined) return near;
  const other = near === undefined ? "and no earlier patch release" : `but ${near}; use --near-deno to pack that`;
  throw new Error(`Failed to pack for ${target}: npm has no Deno ${own} for it, ${other}`);
}

/** Returns the newest of these versions that is an earlier patch release of `own`; undefined if none is. */
export function nearestBefore(own: string, versions: readonly string[]): string | undefined {
  const [, line = "", last = ""] = /^(\d+\.\d+)\.(\d+)$/.exec(own) ?? [];
  const patches = versions.filter((version) => version.startsWith(`${line}.`)).map((version) =>
    Number(version.slice(line.length + 1))
  );
  const before = patches.filter((patch) => patch < Number(last));
  return before.length === 0 ? undefined : `${line}.${Math.max(...before)}`;
}

/** Downloads the executable into a folder, as `deno`. */
export async function fetchDeno(target: Target, version: string, folder: string): Promise<void> {
  const work = await mkdtemp(join(tmpdir(), "ostler-deno-"));
  try {
    await run("npm", ["pack", `${packages[target]}@${version}`, "--loglevel=error", `--pack-destination=${work}`]);
    const [archive = ""] = await readdir(work);
    await run("tar", ["--extract", `--file=${archive}`, "package/deno"], work);
    await cp(join(work, "package/deno"), join(folder, "deno"));
    await run("chmod", ["755", join(folder, "deno")]);
  } finally {
    await rm(work, { recursive: true, force: true });
  }
}
