/**
 * Where Ostler differs from the recorded cases on purpose; every difference that a test accepts is listed with its
 * reason.
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

/** The difference of that name holds for a case; throws for an unlisted name. */
export function differs(name: string, caseName: string): boolean {
  const difference = listed[name];
  if (!difference?.ours || !difference.reason) {
    throw new Error(`Failed to accept "${name}": it is not listed with a reason`);
  }
  return difference.cases === "all" || difference.cases.includes(caseName);
}

/** All cases that a difference names. */
export function differingCases(): string[] {
  return [...new Set(Object.values(listed).flatMap(({ cases }) => cases === "all" ? [] : cases))];
}

const hubTables =
  /(?:\[plugins\."io\.containerd\.cri\.v1\.images"\.registry\.configs\."[^"]+"(?:\.auth)?\]\n(?:[a-z]+ = .*\n)*)+/;

/** A recorded text of a case with credentials for Docker Hub, with the host that we write them for. */
export function withHubHost(text: string): string {
  const [tables] = hubTables.exec(text) ?? [];
  if (!tables?.includes('"index.docker.io"')) return text;
  const named = tables.replaceAll('"index.docker.io"', '"registry-1.docker.io"');
  const hosts = named.split(/(?=^\[plugins[^\n]*configs\."[^"]+"\]$)/m);
  return text.replace(tables, () => hosts.sort().join(""));
}
