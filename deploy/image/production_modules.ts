// Entry point: removes from node_modules the packages that only tests and builds need. Its argument is the architecture
// of the image.
import { readdir, readFile, rm, rmdir, stat } from "node:fs/promises";
import { basename, join, resolve } from "node:path";
import process from "node:process";
import { installedPackages, namesIn } from "./installed_packages.ts";

/** Target triples, by architecture of the image; the Temporal SDK names its native libraries after them. */
const triples: Record<string, string> = { amd64: "x86_64-unknown-linux-gnu", arm64: "aarch64-unknown-linux-gnu" };

/** The image has bundles of the workflows and of the Kubernetes client, so it needs neither @swc nor the client. */
const isBundled = (name: string): boolean => name.startsWith("@swc/") || name === "@kubernetes/client-node";

async function keepOnly(nodeModules: string, names: string[], triple: string): Promise<void> {
  const packages = await installedPackages(nodeModules, names, isBundled);
  const kept = new Set(packages.map(({ folder }) => basename(folder)));
  const store = join(nodeModules, ".deno");
  for (const name of await readdir(store)) if (!kept.has(name)) await remove(join(store, name));
  for (const name of await namesIn(nodeModules)) {
    if (!names.includes(name) || isBundled(name)) await remove(join(nodeModules, name));
  }
  for (const { folder, place } of packages) {
    await removeDeadLinks(join(folder, "node_modules"));
    await removeMarks(place);
  }
  await keepNative(packages.find(({ name }) => name === "@temporalio/core-bridge")?.folder, triple);
}

/** Removes the native libraries of the Temporal SDK for other systems. */
async function keepNative(folder: string | undefined, triple: string): Promise<void> {
  const releases = join(folder ?? "", "node_modules/@temporalio/core-bridge/releases");
  const all = await readdir(releases);
  if (!all.includes(triple)) {
    throw new Error(
      `Failed to build an image for ${triple}: the Temporal SDK has native libraries only for ${all.join(", ")}`,
    );
  }
  for (const name of all) if (name !== triple) await remove(join(releases, name));
}

async function removeDeadLinks(folder: string): Promise<void> {
  for (const name of await namesIn(folder)) {
    const path = join(folder, name);
    if (await stat(path).then(() => false, () => true)) await remove(path);
  }
}

/**
 * Removes Deno's markers for skipped build scripts: Deno writes them in some builds only, so that two images of the
 * same source would differ.
 */
async function removeMarks(place: string): Promise<void> {
  const marks = (await readdir(place)).filter((name) => name.startsWith(".scripts-"));
  for (const name of marks) await rm(join(place, name));
}

/** Removes a package's folder or link, and the folder of its npm scope if that is then empty. */
async function remove(path: string): Promise<void> {
  await rm(path, { recursive: true, force: true });
  const folder = resolve(path, "..");
  if (basename(folder).startsWith("@") && (await readdir(folder)).length === 0) await rmdir(folder);
}

const [architecture = ""] = process.argv.slice(2);
const triple = triples[architecture];
if (triple === undefined) {
  throw new Error(`Invalid architecture "${architecture}": accepted are ${Object.keys(triples).join(", ")}`);
}
const { dependencies } = JSON.parse(await readFile("package.json", "utf8"));
await keepOnly(resolve("node_modules"), Object.keys(dependencies), triple);
