import { deepEqual, equal } from "node:assert/strict";
import type { Phase, Quarantined, Rollback } from "../../../../../workflows/contracts/mod.ts";
import { conditions, type Told } from "../../../../../workflows/status/page.ts";

const bad: Quarantined = {
  ...{ specHash: "s", templateHash: "t", revision: "4", image: "image-4", kubelet: "k", by: "policy", since: 0 },
  reason: "JoinAttemptsExhausted: w-9",
};
const left: Rollback = { kind: "RollBack", by: "policy", reason: bad.reason, since: 0, bad, reapplied: 0 };

function told(difference: Partial<Told>): Told {
  return {
    ...{
      phase: "Rolling",
      reason: "Why",
      message: "words",
      paused: null,
      blocked: null,
      left: null,
      isRollingBack: false,
      quarantined: null,
    },
    ...difference,
  };
}

/** Returns the types of the conditions that are True. */
function holding(difference: Partial<Told>): string[] {
  return conditions(told(difference)).flatMap(({ type, status }) => status === "True" ? [type] : []);
}

const types = ["Ready", "Progressing", "Blocked", "Paused", "RolledBack", "Quarantined"];
const phases: [Phase, string[]][] = [
  ...(["Preparing", "Creating", "Rolling", "RollingBack", "Repairing"] as const).map((phase): [Phase, string[]] => [
    phase,
    ["Progressing"],
  ]),
  ["Converged", ["Ready"]],
  ["Halted", []],
  ["Aborted", []],
  ["Deleting", []],
];

for (const [phase, expected] of phases) {
  Deno.test(`conditions: has all types, and only ${expected.join(", ") || "none"} is True, when the phase is ${phase}`, () => {
    deepEqual(holding({ phase }), expected);
    deepEqual(conditions(told({ phase })).map(({ type }) => type), types);
  });
}

const facts: [name: string, difference: Partial<Told>, expected: string[], message: string][] = [
  ["a pause", { paused: { by: "ada", reason: "incident 12", since: 0 } }, ["Paused"], "Paused by ada: incident 12"],
  [
    "the reason of a block",
    { blocked: { reason: "Soaking", message: "until ten" } },
    ["Progressing", "Blocked"],
    "until ten",
  ],
  ["a rollback", { phase: "RolledBack", left }, ["RolledBack"], bad.reason],
  ["an earlier rollback", { phase: "Converged", left }, ["Ready", "RolledBack"], bad.reason],
  [
    "a change in quarantine",
    { phase: "Halted", quarantined: bad },
    ["Quarantined"],
    "Revision 4 (image-4) is quarantined: JoinAttemptsExhausted: w-9",
  ],
];

for (const [name, difference, expected, message] of facts) {
  Deno.test(`conditions: shows ${name}`, () => {
    const all = conditions(told(difference));
    deepEqual(holding(difference), expected);
    equal(all.find(({ type }) => type === expected.at(-1))?.message, message);
  });
}

Deno.test("conditions: RolledBack is not True during the rollback, even if the rollback is halted", () => {
  deepEqual(holding({ phase: "RollingBack", left, isRollingBack: true }), ["Progressing"]);
  deepEqual(holding({ phase: "Halted", left, isRollingBack: true }), []);
  deepEqual(holding({ phase: "RolledBack", left, isRollingBack: true }), ["RolledBack"]);
});

Deno.test("conditions: always has a reason that Kubernetes accepts", () => {
  for (const { reason } of phases.flatMap(([phase]) => conditions(told({ phase })))) {
    equal(/^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$/.test(reason), true, reason);
  }
});
