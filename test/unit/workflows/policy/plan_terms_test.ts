import { deepEqual, equal, notEqual } from "node:assert/strict";
import { defaultRules } from "../../../../activities/policy/default_rules.ts";
import type { Desired, PlanTerms, Rules } from "../../../../workflows/contracts/mod.ts";
import { isCovered, planTerms, termsInForm } from "../../../../workflows/policy/forecast.ts";
import { supplierOf } from "../../../../workflows/policy/supplier.ts";
import { desired as picture } from "./simulation/picture.ts";

const supplier = supplierOf(undefined);
const desired = { ...picture, replicas: 10, surge: 3 };
const terms = termsOf(desired, defaultRules);
function termsOf(of: Desired, rules: Rules): PlanTerms {
  return planTerms(supplier, of, rules);
}
const windows = (from: number): Rules["windows"] => [{ from, to: from + 1 }];

const changes: Record<string, Partial<Rules>> = {
  "waves": { waves: [{ upTo: 1, soak: 0 }, { upTo: "100%", soak: 0 }] },
  "the soak of a wave": { waves: [{ upTo: "100%", soak: 1 }] },
  "growth": { growth: { from: 1, factor: 2, soak: 0 } },
  "budget": { budget: { ...defaultRules.budget, machines: 2 } },
  "the existence of windows": { windows: windows(5) },
  "join": { join: { ...defaultRules.join, attempts: 7 } },
  "drain": { drain: { ...defaultRules.drain, onBlocked: "Force" } },
  "gates": {
    gates: [{ name: "g", run: "EachWave", within: 1, check: { kind: "NodeCondition", type: "Ready", status: "True" } }],
  },
  "onFailure": { onFailure: "Rollback" },
  "maxFailed": { maxFailed: 9 },
  "approval": { approval: "BeforeEachWave" },
};
for (const [what, rules] of Object.entries(changes)) {
  Deno.test(`planTerms: changes when the policy changes ${what}`, () => {
    equal(isCovered(terms, termsOf(desired, { ...defaultRules, ...rules })), false);
  });
}

Deno.test("planTerms: changes when the template changes, or when surge becomes 0", () => {
  notEqual(termsOf({ ...desired, templateHash: "another" }, defaultRules).hash, terms.hash);
  notEqual(termsOf({ ...desired, surge: 0 }, defaultRules).hash, terms.hash);
});

Deno.test("planTerms: ignores the times of windows, the rounding of percentages, and the name of the policy", () => {
  const at = (from: number): unknown => termsOf(desired, { ...defaultRules, windows: windows(from) });
  deepEqual(at(5), at(6));
  deepEqual(termsOf({ ...desired, surge: 2 }, defaultRules), terms);
  deepEqual(termsOf(desired, { ...defaultRules, source: "another", conflict: "a and b" }), terms);
});

Deno.test("planTerms: is the same for rules that were decoded from JSON", () => {
  const given = { ...defaultRules, later: undefined, drain: { ...defaultRules.drain, later: undefined } } as Rules;
  deepEqual(termsOf(desired, JSON.parse(JSON.stringify(given)) as Rules), termsOf(desired, given));
});

Deno.test("fault E3: an edit of the profile does not change the approved terms", () => {
  deepEqual(termsOf({ ...desired, specHash: "another" }, defaultRules), terms);
});

Deno.test("fault E11: a rule that a later version of Ostler adds with its default value does not change the approved terms", () => {
  const check = { kind: "Pods" as const, namespace: "web", selector: "app=web", min: 1 };
  const gates = [{ name: "g", run: "EachWave" as const, within: 1, check }];
  const growth = { from: 1, factor: 2, soak: 0 };
  const before: Rules = { ...defaultRules, gates, growth };
  const later = {
    ...before,
    pace: "Steady",
    onImageChange: "Replace",
    waves: before.waves.map((wave) => ({ ...wave, least: 1 })),
    growth: { ...growth, most: null },
    budget: { ...before.budget, urgency: "Normal" },
    join: { ...before.join, warm: false },
    drain: { ...before.drain, grace: 30 },
    gates: gates.map((gate) => ({ ...gate, retries: 0, check: { ...check, most: null } })),
    repair: { ...before.repair, reboot: false },
  } as Rules;
  deepEqual(termsOf(desired, later), termsOf(desired, before));
});

Deno.test("fault E11: an approval that an earlier version of Ostler recorded in another form stays valid until the plan changes", () => {
  const { form: _, ...earlier } = { ...terms, hash: "of an earlier version" };
  const held = termsInForm(earlier, terms);
  deepEqual([held, isCovered(held, terms)], [terms, true]);
  equal(isCovered(held, termsOf(desired, { ...defaultRules, maxFailed: 9 })), false);
  equal(isCovered(termsInForm(earlier, { ...terms, replicas: 11 }), { ...terms, replicas: 11 }), false);
  deepEqual([termsInForm(terms, { ...terms, replicas: 1 }), termsInForm(null, terms)], [terms, terms]);
});

Deno.test("isCovered: returns true for the approved number of machines and for fewer", () => {
  const covered = [9, 10, 11].map((replicas) => isCovered(terms, { ...terms, replicas }));
  deepEqual(covered, [true, true, false]);
});
