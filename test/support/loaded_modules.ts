/** The modules that a file of Ostler loads when it runs, as Deno sees it. */
import { execFile } from "node:child_process";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

const root = fileURLToPath(new URL("../../", import.meta.url));

interface Graph {
  roots: string[];
  redirects: Record<string, string>;
  modules: { specifier: string; dependencies?: Dependency[] }[];
}

interface Dependency {
  specifier: string;
  code?: { specifier: string };
  isDynamic?: boolean;
}

async function graphOf(file: string): Promise<Graph> {
  const run = promisify(execFile);
  const { stdout } = await run(process.execPath, ["info", "--json", file], { cwd: root, maxBuffer: 64 << 20 });
  return JSON.parse(stdout);
}

/**
 * Returns the specifiers of the file and of every module that it imports statically, directly or indirectly; without
 * dynamic imports, and without modules that packages load.
 */
export async function loadedBy(file: string): Promise<string[]> {
  const { roots, redirects, modules } = await graphOf(file);
  const next = new Map(modules.map(({ specifier, dependencies = [] }) => [specifier, dependencies]));
  const found = new Set(roots);
  for (const specifier of found) {
    for (const { code, isDynamic } of next.get(redirects[specifier] ?? specifier) ?? []) {
      if (code !== undefined && !isDynamic) found.add(code.specifier);
    }
  }
  return [...found];
}

/** Returns the names of the npm packages among the specifiers. */
export function packagesOf(specifiers: readonly string[]): string[] {
  const names = specifiers.map((specifier) => /^npm:\/?(@?[^@]+)/.exec(specifier)?.[1] ?? "");
  return [...new Set(names)].filter((name) => name !== "").sort();
}

/**
 * Returns the files that import more than types of a package, among all files that `file` loads by static or dynamic
 * imports.
 */
export async function importersOf(file: string, name: string): Promise<string[]> {
  const { modules } = await graphOf(file);
  const takes = ({ specifier, code }: Dependency): boolean => specifier === name && code !== undefined;
  return modules.filter(({ dependencies = [] }) => dependencies.some(takes)).map(({ specifier }) => specifier);
}
