import { equal } from "node:assert/strict";
import { defaultRules } from "../../../../activities/policy/default_rules.ts";
import type { Desired, PoolSnapshot, Rules } from "../../../../workflows/contracts/mod.ts";
import { etaOf, type EtaQuestion } from "../../../../workflows/policy/forecast.ts";
import { machineController, scalingGroup, supplierOf } from "../../../../workflows/policy/supplier.ts";
import { usualReplacement } from "../../../../workflows/policy/turn.ts";

const minute = 60_000;

function question(given: Partial<EtaQuestion> & { rules?: Rules } = {}): EtaQuestion {
  return {
    now: 0,
    rules: defaultRules,
    supplier: machineController,
    desired: { replicas: 10, surge: 3 } as Desired,
    counts: { old: 6, leaving: 0 } as PoolSnapshot["counts"],
    usual: { join: [60, 60, 60], leave: [60] },
    wave: { index: 0, soakUntil: null, passed: false, approved: false },
    blocked: null,
    rollingBack: false,
    ...given,
  };
}

Deno.test("etaOf: adds up the replacements with the default budget", () => {
  equal(etaOf(question()), 12 * minute);
});

Deno.test("etaOf: assumes as many concurrent replacements as budget and surge allow", () => {
  const budget = { ...defaultRules.budget, machines: 5 };
  equal(etaOf(question({ rules: { ...defaultRules, budget } })), 4 * minute);
});

Deno.test("etaOf: adds the remaining soaks, and starts when the window opens", () => {
  const waves = [{ upTo: 1, soak: 5 * minute }, { upTo: "100%", soak: 7 * minute }];
  const rules = { ...defaultRules, waves };
  equal(etaOf(question({ rules })), 24 * minute);
  const blocked = { reason: "OutsideWindow", message: "", until: 30 * minute } as const;
  equal(etaOf(question({ rules, blocked })), 54 * minute);
});

Deno.test("etaOf: counts a soak that has begun until its end, even if a window opens before", () => {
  const rules = { ...defaultRules, waves: [{ upTo: 1, soak: 5 * minute }, { upTo: "100%", soak: 0 }] };
  const wave = { index: 0, soakUntil: 40 * minute, passed: true, approved: true };
  for (const reason of ["Soaking", "OutsideWindow"] as const) {
    const until = reason === "Soaking" ? wave.soakUntil : 30 * minute;
    equal(etaOf(question({ rules, wave, blocked: { reason, message: "", until } })), 52 * minute);
  }
});

Deno.test("etaOf: adds no soak of a wave without machines, and none during a rollback", () => {
  const waves = [{ upTo: 10, soak: 0 }, { upTo: "100%", soak: 60 * minute }];
  equal(etaOf(question({ rules: { ...defaultRules, waves } })), 12 * minute);
  const rules = { ...defaultRules, waves: [{ upTo: 1, soak: 60 * minute }, { upTo: "100%", soak: 0 }] };
  const wave = { index: 0, soakUntil: 40 * minute, passed: true, approved: true };
  equal(etaOf(question({ rules, wave, rollingBack: true })), 12 * minute);
});

Deno.test("etaOf: without surge, only the budget limits pools in which Ostler itself takes machines out of service", () => {
  const rules = { ...defaultRules, budget: { ...defaultRules.budget, machines: 5 } };
  const desired = { replicas: 10, surge: 0 } as Desired;
  for (const supplier of [supplierOf("NodePool"), scalingGroup]) {
    equal(etaOf(question({ rules, desired, supplier })), 4 * minute);
  }
  equal(etaOf(question({ rules, desired })), 12 * minute);
});

Deno.test("etaOf: returns null without measurements, or when a person must act", () => {
  equal(etaOf(question({ usual: { join: [], leave: [] } })), null);
  equal(etaOf(question({ blocked: { reason: "AwaitingApproval", message: "", until: null } })), null);
});

Deno.test("usualReplacement: returns the duration within which nine of ten replacements are complete", () => {
  const join = [10, 10, 10, 10, 10, 10, 10, 10, 10, 99];
  equal(usualReplacement({ join, leave: [] }), 10_000);
  equal(usualReplacement({ join: [...join, 99], leave: [5] }), 104_000);
  equal(usualReplacement({ join: [], leave: [5] }), null);
});

Deno.test("usualReplacement: ignores the slowest sample, unless there are fewer than three", () => {
  equal(usualReplacement({ join: [10, 20, 99], leave: [5, 99, 7] }), 27_000);
  equal(usualReplacement({ join: [10], leave: [99, 5] }), 109_000);
});
