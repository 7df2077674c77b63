/** Fills the build context of the image: the project's files that belong to it, and Deno's downloads for them. */
import { existsSync } from "node:fs";
import { cp, mkdir, readdir, readFile, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { definedVariables } from "../../local/tools/environment.ts";
import { runCommand } from "../../local/tools/run_command.ts";

export const root = fileURLToPath(new URL("../../..", import.meta.url));
export const recipe = "deploy/image/Dockerfile";

/** Matches native libraries of the Temporal SDK for macOS and Windows, which have no Ostler image. */
const otherSystems = /-(darwin|windows)/;

/** Runs a program, by default in the project's folder; returns stdout, and throws with the last lines of its output. */
export async function run(program: string, args: readonly string[], cwd = root): Promise<string> {
  const { code, stdout, lines } = await runCommand({ program, args, env: definedVariables(process.env), cwd });
  if (code === 0) return stdout;
  throw new Error(`Failed to run "${program} ${args[0]}": exit code ${code}: ${lines.slice(-5).join("; ")}`);
}

/**
 * Returns whether files differ from the commit. Of untracked files, only those in the build context count: others, such
 * as an earlier archive, do not change the image.
 */
export async function isChanged(): Promise<boolean> {
  const { kept } = await visible();
  const outputs = await Promise.all([
    run("git", ["status", "--porcelain", "--untracked-files=no"]),
    run("git", ["ls-files", "--others", "--exclude-standard", "--", ...kept]),
  ]);
  return outputs.some((output) => output.trim() !== "");
}

/** Fills an empty folder with the build context, so that a build downloads only Debian packages. */
export async function fillContext(folder: string): Promise<void> {
  const { kept, left } = await visible();
  const files = (await run("git", ["ls-files", "-z", "--cached", "--others", "--exclude-standard", "--", ...kept]))
    .split("\0").filter((path) => path !== "" && existsSync(join(root, path)));
  for (const path of files.filter((path) => !left.some((ending) => path.endsWith(ending)))) {
    await cp(join(root, path), join(folder, path));
  }
  await fillDownloads(join(folder, ".deno"), join(folder, "unused.js"));
}

/**
 * Returns the paths that the Dockerfile's ignore file includes, and the endings of files below them that it excludes.
 */
async function visible(): Promise<{ kept: string[]; left: string[] }> {
  const lines = (await readFile(join(root, `${recipe}.dockerignore`), "utf8")).split("\n");
  const kept = lines.filter((line) => line.startsWith("!") && line !== "!.deno").map((line) => line.slice(1));
  return { kept, left: lines.filter((line) => line.startsWith("**/")).map((line) => line.replace(/^\*\*\/\*?/, "")) };
}

async function fillDownloads(cache: string, scratch: string): Promise<void> {
  // Deno downloads its bundler on the first use, so this bundle, which is not used, puts the bundler into Deno's cache.
  await run(Deno.execPath(), ["bundle", "--quiet", "--output", scratch, "activities/kube/polling.ts"]);
  await rm(scratch);
  const { denoDir, npmCache } = JSON.parse(await run(Deno.execPath(), ["info", "--json"]));
  await link(join(denoDir, "dl"), join(cache, "dl"));
  const { npm } = JSON.parse(await readFile(join(root, "deno.lock"), "utf8"));
  for (const registry of await readdir(npmCache)) {
    const at = (path: string): [string, string] => [join(npmCache, registry, path), join(cache, "npm", registry, path)];
    await link(...at("@esbuild"));
    for (const path of Object.keys(npm).flatMap(pathsOf)) await link(...at(path));
    await dropOtherSystems(join(cache, "npm", registry, "@temporalio/core-bridge"));
  }
}

/**
 * Returns the paths of package and metadata in Deno's cache for a locked package, such as
 * "@scope/name@1.0.0_peer@2.0.0".
 */
function pathsOf(locked: string): string[] {
  const [, name = "", version = ""] = /^(@?[^@]+)@([^_]+)/.exec(locked) ?? [];
  return [`${name}/${version}`, `${name}/registry.json`];
}

/**
 * Hard-links files under another name, or copies them if that fails; does nothing if `from` is absent or `to` exists.
 */
async function link(from: string, to: string): Promise<void> {
  if (!existsSync(from) || existsSync(to)) return;
  await mkdir(dirname(to), { recursive: true });
  await run("cp", ["--archive", "--link", from, to]).catch(() => run("cp", ["--archive", from, to]));
}

async function dropOtherSystems(folder: string): Promise<void> {
  if (!existsSync(folder)) return;
  for (const version of await readdir(folder)) {
    const releases = join(folder, version, "releases");
    if (!existsSync(releases)) continue;
    const others = (await readdir(releases)).filter((name) => otherSystems.test(name));
    for (const name of others) await rm(join(releases, name), { recursive: true });
  }
}
