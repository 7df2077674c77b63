import { equal } from "node:assert/strict";
import { defaultRules } from "../../../../activities/policy/default_rules.ts";
import type { Desired, PoolSnapshot, Rules } from "../../../../workflows/contracts/mod.ts";
import { etaOf, type EtaQuestion } from "../../../../workflows/policy/forecast.ts";
import { usualReplacement } from "../../../../workflows/policy/turn.ts";

const minute = 60_000;

function question(given: Partial<EtaQuestion> & { rules?: Rules } = {}): EtaQuestion {
  return {
    now: 0,
    rules: defaultRules,
    room: 3,
    desired: { replicas: 10, surge: 3 } as Desired,
    counts: { old: 6, leaving: 0 } as PoolSnapshot["counts"],
    usual: { join: [60, 60, 60], leave: [60] },
    wave: { index: 0, soakUntil: null, passed: false, approved: false },
    blocked: null,
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
  equal(etaOf(question({ rules })), 19 * minute);
  const blocked = { reason: "OutsideWindow", message: "", until: 30 * minute } as const;
  equal(etaOf(question({ rules, blocked })), 49 * minute);
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
