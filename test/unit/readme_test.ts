/** The tables of README and documentation agree with the code. */
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { loadYaml } from "@kubernetes/client-node";

const read = (path: string): Promise<string> => readFile(new URL(`../../${path}`, import.meta.url), "utf8");
const readme = await read("README.md");
const operate = await read("docs/how-to/operate.md");

/** Returns the section of docs/how-to/operate.md whose heading begins with `name`. */
function sectionOf(name: string): string {
  return operate.split(/^##+ /m).find((part) => part.startsWith(name)) ?? "";
}

/** Returns the rows of the first table of a section, as cells. */
function tableOf(section: string): string[][] {
  return rowsOf(sectionOf(section));
}

function rowsOf(text: string): string[][] {
  const rows = text.split("\n").filter((line) => line.startsWith("| ")).slice(2);
  return rows.map((row) => row.split("|").slice(1, -1).map((cell) => cell.trim()));
}

Deno.test("docs/reference/deadlines.md: lists the deadlines with their defaults", async () => {
  const source = await read("workflows/state/input.ts");
  const [, block = ""] = /defaultDeadlines[^{]*{([^}]*)}/.exec(source) ?? [];
  const coded = [...block.matchAll(/(\w+): "(\w+)"/g)].map(([, name, value]) => [name, value]);
  const told = [...(await read("docs/reference/deadlines.md")).matchAll(/`(\w+)` (\d+\w)\b/g)].map((
    [, name, value],
  ) => [name, value]);
  assert.ok(coded.length > 5);
  assert.deepEqual(told, coded);
});

Deno.test("docs/how-to/operate.md: has a remedy for every reason of a halted rollout, and for no other reason", async () => {
  const source = await read("workflows/contracts/publication.ts");
  const union = (name: string): string[] => {
    const [, block = ""] = new RegExp(`type ${name} =([^;]*);`).exec(source) ?? [];
    return [...block.matchAll(/"(\w+)"/g)].map(([, reason = ""]) => reason);
  };
  const decided = ["JoinAttemptsExhausted", "GateFailed", "SpecReapplied", "ReplacementRefused", ...union("BugType")];
  const coded = [...union("RefusedType"), ...union("ExpiredType"), ...union("UpdateFailureType"), ...decided].sort();
  const told = tableOf("Fix a halted rollout").flatMap(([reasons = ""]) =>
    [...reasons.matchAll(/`(\w+)`/g)].map(([, it]) => it)
  );
  assert.ok(coded.length > 10);
  assert.deepEqual(told.sort(), coded);
});

Deno.test("docs/how-to/operate.md: has a remedy for every reason of a blocked rollout", async () => {
  const source = await read("workflows/policy/turn.ts");
  const [, block = ""] = /interface Blocked {([^}]*)until/.exec(source) ?? [];
  const coded = [...block.matchAll(/\| "(\w+)"/g)].map(([, reason = ""]) => reason);
  const section = sectionOf("Fix a condition");
  // A soak is part of the plan and not an obstacle.
  const missing = coded.filter((reason) => reason !== "Soaking" && !section.includes(`\`${reason}\``));
  assert.ok(coded.length > 10);
  assert.deepEqual(missing, []);
});

Deno.test("DIFFERENCES: lists each difference from Operating System Manager that tests accept", async () => {
  const listed = loadYaml<Record<string, { ours: string; reason: string }>>(
    await read("test/golden/osm/differences.yaml"),
  );
  const told = rowsOf(await read("profiles/DIFFERENCES.md"));
  assert.ok(told.length > 10);
  assert.deepEqual(told, Object.values(listed).map(({ ours, reason }) => [ours, reason]));
});

Deno.test("docs/how-to/operate.md: each command has a namespace, unless it needs none", () => {
  const table = sectionOf("Inspect and control").split("\n").filter((line) => line.startsWith("| "));
  const commands = table.flatMap((line) => [...line.matchAll(/`(ostler [^`]+)`/g)].map(([, command = ""]) => command));
  assert.ok(commands.length >= 12, commands.join("\n"));
  assert.deepEqual(
    commands.filter((command) => !/ -n kube-system\b| -A\b| explain [A-Z]| nodeversion\/| sg\//.test(command)),
    [],
  );
});

Deno.test("README: has at most 100 lines", () => {
  assert.ok(readme.split("\n").length <= 100);
});
