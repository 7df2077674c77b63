/** What a file of ours loads at once when it is run, as Deno sees it. */
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
  code?: { specifier: string };
  isDynamic?: boolean;
}

/** Specifiers of every module that a file loads at once, itself among them; not what packages load in their turn. */
export async function loadedBy(file: string): Promise<string[]> {
  const run = promisify(execFile);
  const { stdout } = await run(process.execPath, ["info", "--json", file], { cwd: root, maxBuffer: 64 << 20 });
  const { roots, redirects, modules }: Graph = JSON.parse(stdout);
  const next = new Map(modules.map(({ specifier, dependencies = [] }) => [specifier, dependencies]));
  const found = new Set(roots);
  for (const specifier of found) {
    for (const { code, isDynamic } of next.get(redirects[specifier] ?? specifier) ?? []) {
      if (code !== undefined && !isDynamic) found.add(code.specifier);
    }
  }
  return [...found];
}

/** The packages among them, by name. */
export function packagesOf(specifiers: readonly string[]): string[] {
  const names = specifiers.map((specifier) => /^npm:\/?(@?[^@]+)/.exec(specifier)?.[1] ?? "");
  return [...new Set(names)].filter((name) => name !== "").sort();
}
