/** Finds the named packages in Deno's node_modules, and their dependencies through the links beside each package. */
import { readdir, readFile, readlink } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";

/** A package in node_modules/.deno. */
interface InstalledPackage {
  name: string;
  version: string;
  /** License as stated by the package; not always an SPDX expression. */
  license?: string;
  /** Folder of the package in node_modules/.deno, which also has links to its dependencies. */
  folder: string;
  /** Folder of the package's files, inside `folder`. */
  place: string;
}

/**
 * Returns the named packages and all of their dependencies, sorted by folder. Leaves out each package whose name
 * `isLeftOut` accepts, and dependencies that only such packages have.
 */
export async function installedPackages(
  nodeModules: string,
  names: readonly string[],
  isLeftOut: (name: string) => boolean = () => false,
): Promise<InstalledPackage[]> {
  const found = new Map<string, InstalledPackage>();
  const open = names.filter((name) => !isLeftOut(name)).map((name) => join(nodeModules, name));
  for (const link of open) {
    const place = resolve(dirname(link), await readlink(link));
    const siblings = place.slice(0, place.lastIndexOf("/node_modules/") + "/node_modules".length);
    const folder = dirname(siblings);
    if (found.has(folder)) continue;
    found.set(folder, { ...await describe(place), folder, place });
    const needed = (await namesIn(siblings)).filter((name) => join(siblings, name) !== place && !isLeftOut(name));
    open.push(...needed.map((name) => join(siblings, name)));
  }
  return [...found.values()].sort((a, b) => a.folder < b.folder ? -1 : 1);
}

/** Returns the names of the packages in a folder, with their scopes. */
export async function namesIn(folder: string): Promise<string[]> {
  const names = (await readdir(folder)).filter((name) => !name.startsWith("."));
  const all = names.map(async (name) =>
    name.startsWith("@") ? (await readdir(join(folder, name))).map((inner) => `${name}/${inner}`) : [name]
  );
  return (await Promise.all(all)).flat();
}

async function describe(place: string): Promise<Omit<InstalledPackage, "folder" | "place">> {
  const { name, version, license } = JSON.parse(await readFile(join(place, "package.json"), "utf8"));
  return { name, version, ...(typeof license === "string" ? { license } : {}) };
}
