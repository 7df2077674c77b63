import { deepEqual, equal } from "node:assert/strict";
import type { Phase } from "../../../../workflows/contracts.ts";
import { conditions } from "../../../../workflows/policy/conditions.ts";

function statuses(phase: Phase, paused: { by: string; reason: string } | null = null): string[] {
  const all = conditions({ phase, reason: "Why", message: "words" }, paused);
  return all.map(({ type, status }) => `${type}=${status}`);
}

const table: [Phase, string[]][] = [
  ["Preparing", ["Ready=False", "Progressing=True", "Blocked=False", "Paused=False"]],
  ["Creating", ["Ready=False", "Progressing=True", "Blocked=False", "Paused=False"]],
  ["Rolling", ["Ready=False", "Progressing=True", "Blocked=False", "Paused=False"]],
  ["Converged", ["Ready=True", "Progressing=False", "Blocked=False", "Paused=False"]],
  ["Halted", ["Ready=False", "Progressing=False", "Blocked=True", "Paused=False"]],
  ["Aborted", ["Ready=False", "Progressing=False", "Blocked=False", "Paused=False"]],
  ["Deleting", ["Ready=False", "Progressing=False", "Blocked=False", "Paused=False"]],
];

for (const [phase, expected] of table) {
  Deno.test(`conditions gives all four for ${phase}`, () => deepEqual(statuses(phase), expected));
}

Deno.test("conditions shows a pause with who and why, and no progress", () => {
  const paused = { by: "somebody", reason: "incident 12" };
  deepEqual(statuses("Rolling", paused), ["Ready=False", "Progressing=False", "Blocked=False", "Paused=True"]);
  const all = conditions({ phase: "Rolling", reason: "Why", message: "words" }, paused);
  equal(all.at(-1)?.message, "Paused by somebody: incident 12");
});

Deno.test("conditions always gives a reason that Kubernetes accepts", () => {
  for (const [phase] of table) {
    for (const { reason } of conditions({ phase, reason: "Why", message: "" }, null)) {
      equal(/^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$/.test(reason), true, reason);
    }
  }
});
