import { deepEqual, equal, match } from "node:assert/strict";
import { defaultRules } from "../../../../activities/policy/default_rules.ts";
import type { Rules } from "../../../../workflows/contracts/mod.ts";
import { commands } from "../../../../workflows/commands/commands.ts";
import { beginChange } from "../../../../workflows/state/rollout.ts";
import type { Rollout } from "../../../../workflows/state/rollout.ts";
import { freshWave } from "../../../../workflows/state/waves.ts";
import { openRun } from "../../../support/open_run.ts";

const { approve } = commands;

function waiting(approval: Rules["approval"], hash: string): Rollout {
  const rollout = openRun({ target: { rules: { ...defaultRules, approval } } });
  beginChange(rollout, { specHash: "spec", templateHash: "t1" });
  return planned(rollout, hash);
}

function planned(rollout: Rollout, hash: string): Rollout {
  rollout.people.plan = { hash };
  return rollout;
}

function approved(approval: Rules["approval"]): Rollout {
  const rollout = waiting(approval, "one");
  equal(approve.refuse(rollout, { plan: "one" }), undefined);
  approve.apply(rollout, { plan: "one", by: "ada" });
  return rollout;
}

for (const approval of ["BeforeFirst", "BeforeEachWave"] as const) {
  Deno.test(`approve: repeats its answer and reports one Event when the request is repeated, with ${approval}`, () => {
    const rollout = approved(approval);
    const [news, wave] = [rollout.view.news, rollout.waves.current];
    // A plan that Ostler reads after the approval changes nothing, because the machines of this wave are already being
    // replaced.
    planned(rollout, "two");
    equal(approve.refuse(rollout, { plan: "one" }), undefined);
    equal(approve.apply(rollout, { plan: "one", by: "ben" }), "Plan one can begin with wave 1");
    deepEqual([rollout.view.news, rollout.waves.current, rollout.people.approvedHash], [news, wave, "one"]);
  });

  Deno.test(`approve: refuses a stale plan when another plan is approved, with ${approval}`, () => {
    match(
      approve.refuse(approved(approval), { plan: "none" }) ?? "",
      /plan "none" is stale; plan "one" is already approved/,
    );
  });
}

Deno.test("approve: requires a new approval when the next wave begins, with BeforeEachWave", () => {
  const rollout = approved("BeforeEachWave");
  rollout.waves.current = { ...freshWave(), index: 1 };
  rollout.people.plan = null;
  match(approve.refuse(rollout, { plan: "one" }) ?? "", /no plan is waiting/);
  planned(rollout, "two");
  match(approve.refuse(rollout, { plan: "one" }) ?? "", /stale; the plan waiting for approval is "two"/);
  equal(approve.refuse(rollout, { plan: "two" }), undefined);
  equal(approve.apply(rollout, { plan: "two" }), "Plan two can begin with wave 2");
});

Deno.test("approve: an approval is valid only for its change, and no longer when that change is applied again after another change", () => {
  const rollout = approved("BeforeFirst");
  beginChange(rollout, { specHash: "another", templateHash: "t2" });
  beginChange(rollout, { specHash: "spec", templateHash: "t1" });
  deepEqual([rollout.people.approvedPlan, rollout.people.approvedHash], ["", ""]);
  match(approve.refuse(planned(rollout, "two"), { plan: "one" }) ?? "", /stale/);
});
