/**
 * Where Ostler's output differs on purpose from the recorded output of Operating System Manager. differences.yaml lists
 * every difference that a test accepts, with its reason.
 */
import { readFileSync } from "node:fs";
import { loadYaml } from "@kubernetes/client-node";

interface Difference {
  cases: "all" | string[];
  ours: string;
  reason: string;
}

const listed = loadYaml<Record<string, Difference>>(
  readFileSync(new URL("../golden/osm/differences.yaml", import.meta.url), "utf8"),
);

/**
 * Returns whether the named difference applies to a case; throws if differences.yaml does not list the difference with
 * a reason.
 */
export function differs(name: string, caseName: string): boolean {
  const difference = listed[name];
  if (!difference?.ours || !difference.reason) {
    throw new Error(`Failed to accept "${name}": it is not listed with a reason`);
  }
  return difference.cases === "all" || difference.cases.includes(caseName);
}

/** Returns the cases that differences name, without differences that apply to all cases. */
export function differingCases(): string[] {
  return [...new Set(Object.values(listed).flatMap(({ cases }) => cases === "all" ? [] : cases))];
}

const hubTables =
  /(?:\[plugins\."io\.containerd\.cri\.v1\.images"\.registry\.configs\."[^"]+"(?:\.auth)?\]\n(?:[a-z]+ = .*\n)*)+/;

/**
 * Returns a recorded text with "registry-1.docker.io" in place of "index.docker.io" for the credentials of Docker Hub,
 * as Ostler writes it.
 */
export function withHubHost(text: string): string {
  const [tables] = hubTables.exec(text) ?? [];
  if (!tables?.includes('"index.docker.io"')) return text;
  const named = tables.replaceAll('"index.docker.io"', '"registry-1.docker.io"');
  const hosts = named.split(/(?=^\[plugins[^\n]*configs\."[^"]+"\]$)/m);
  return text.replace(tables, () => hosts.sort().join(""));
}
