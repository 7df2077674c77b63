import { deepEqual, equal, match } from "node:assert/strict";
import { defaultRules } from "../../../../activities/policy/default_rules.ts";
import { dropOvertaken, dropPlan, reviewApproval } from "../../../../workflows/commands/review_approval.ts";
import { commands } from "../../../../workflows/commands/commands.ts";
import type { Rules } from "../../../../workflows/contracts/mod.ts";
import { planTerms } from "../../../../workflows/policy/forecast.ts";
import { supplierOf } from "../../../../workflows/policy/supplier.ts";
import { carriedState } from "../../../../workflows/state/input.ts";
import { beginChange } from "../../../../workflows/state/rollout.ts";
import type { Rollout } from "../../../../workflows/state/rollout.ts";
import { carriedNow } from "../../../support/carried_states.ts";
import { openRun } from "../../../support/open_run.ts";
import { desired } from "../policy/simulation/picture.ts";

type Approval = Rules["approval"];

function approved(approval: Approval): { rollout: Rollout; rules: Rules } {
  const rules: Rules = { ...defaultRules, approval };
  const rollout = openRun({ target: { rules }, waves: { rolled: true } });
  beginChange(rollout, desired);
  read(rollout, "one", rules);
  commands.approve.apply(rollout, { plan: "one", by: "ada" });
  rollout.view.news = [];
  return { rollout, rules };
}

function read({ people }: Rollout, hash: string, rules: Rules): void {
  people.plan = { hash, terms: planTerms(supplierOf(undefined), desired, rules) };
}

const gone = ({ people, waves, view }: Rollout): unknown => [
  people.approvedPlan,
  people.approvedHash,
  people.approvedTerms,
  waves.current.approved,
  view.news.map(({ reason }) => reason),
];

for (const approval of ["BeforeFirst", "BeforeEachWave"] as const) {
  Deno.test(`reviewApproval: keeps the approval when policy and pool still match it, with ${approval}`, () => {
    const { rollout, rules } = approved(approval);
    equal(reviewApproval(rollout, desired, rules), "Kept");
    // Ostler has read another plan since the approval, because machines of the wave have been replaced.
    read(rollout, "two", rules);
    equal(reviewApproval(rollout, { ...desired, replicas: desired.replicas - 1 }, rules), "Kept");
    deepEqual([rollout.people.approvedHash, rollout.view.news], ["one", []]);
  });

  Deno.test(`reviewApproval: drops the approval when rules change, also in the next run, with ${approval}`, () => {
    const { rollout: before, rules } = approved(approval);
    const rollout = openRun({ target: { rules } }, carriedState(before));
    equal(reviewApproval(rollout, desired, { ...rules, maxFailed: 9 }), "Dropped");
    deepEqual(gone(rollout), ["", "", null, false, ["ApprovalDropped"]]);
    equal(rollout.people.plan, null);
  });

  Deno.test(`dropOvertaken: drops the approval when another plan was read after the approved one, with ${approval}`, () => {
    const { rollout, rules } = approved(approval);
    equal(dropOvertaken(rollout, "one"), "Kept");
    read(rollout, "two", rules);
    equal(dropOvertaken(rollout, "one"), "Dropped");
    deepEqual(gone(rollout), ["", "", null, false, ["ApprovalDropped"]]);
    match(rollout.view.news[0]?.message ?? "", /^Plan one is no longer approved: plan two had replaced it/);
    equal(rollout.people.plan?.hash, "two");
  });
}

Deno.test("reviewApproval: applies an approval without terms, from an earlier version of Ostler, to the current plan, until the rules change", () => {
  const { rollout, rules } = approved("BeforeFirst");
  rollout.people.approvedTerms = null;
  equal(reviewApproval(rollout, desired, rules), "Kept");
  deepEqual(rollout.people.approvedTerms, planTerms(supplierOf(undefined), desired, rules));
  equal(reviewApproval(rollout, desired, { ...rules, maxFailed: 9 }), "Dropped");
});

Deno.test("reviewApproval: keeps the approval while policies conflict, replicas are 0, or no outdated machine remains", () => {
  const { rollout, rules } = approved("BeforeFirst");
  const others = { ...rules, maxFailed: 9 };
  equal(reviewApproval(rollout, desired, { ...others, conflict: "a and b" }), "Kept");
  equal(reviewApproval(rollout, { ...desired, replicas: 0 }, others), "Kept");
  rollout.machines.snapshot = {
    ...{ fingerprint: "", old: [], waiting: [], joining: [], stale: [], leaving: [], ill: [] },
    counts: { machines: 3, updated: 3, ready: 3, updatedReady: 3, old: 0, held: 0, leaving: 0, ill: 0 },
  };
  equal(reviewApproval(rollout, desired, others), "Kept");
  deepEqual(rollout.view.news, []);
});

Deno.test("reviewApproval: forgets the approval of a completed wave, so that the next wave does not begin without an approval", () => {
  const { rollout, rules } = approved("BeforeEachWave");
  rollout.waves.current = { ...rollout.waves.current, index: 1, approved: false };
  reviewApproval(rollout, desired, rules);
  deepEqual(gone(rollout), ["", "", null, false, []]);
});

Deno.test("dropPlan: drops the plan when the rollout has moved to another wave, even if the plan was approved", () => {
  const { rollout } = approved("BeforeEachWave");
  const before = { ...rollout.waves.current, approved: false };
  rollout.waves.current = { ...before, index: 1 };
  equal(dropPlan(rollout, before), "Dropped");
  equal(rollout.people.plan, null);
});

Deno.test("carriedState: includes the terms of an approval, and the plan that waits for approval", () => {
  const approvedTerms = { hash: "h", replicas: 3 };
  const plan = { hash: "p", terms: approvedTerms };
  const carried = { ...carriedNow, people: { ...carriedNow.people, approvedTerms, plan } };
  const { people } = carriedState(openRun({}, carried));
  deepEqual([people.approvedTerms, people.plan], [approvedTerms, plan]);
});
