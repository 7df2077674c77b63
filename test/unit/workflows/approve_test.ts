import { deepEqual, equal, match } from "node:assert/strict";
import { defaultRules } from "../../../activities/policy/default_rules.ts";
import type { Rules } from "../../../workflows/contracts/mod.ts";
import { commands } from "../../../workflows/commands/commands.ts";
import { beginChange, freshWave, openRollout } from "../../../workflows/state/rollout.ts";
import type { Rollout } from "../../../workflows/state/rollout.ts";

const { approve } = commands;

function waiting(approval: Rules["approval"], hash: string): Rollout {
  const durations = { settle: 1, instance: 1, address: 1, registered: 1, ready: 1, drain: 1, gone: 1, recheck: 1 };
  const pool = { namespace: "n", name: "p" };
  const rollout = openRollout({ pool, durations, attempts: 2, publishOnly: false, carried: undefined });
  beginChange(rollout, "spec");
  rollout.rules = { ...defaultRules, approval };
  return planned(rollout, hash);
}

function planned(rollout: Rollout, hash: string): Rollout {
  rollout.plan = { hash, waves: [], blocked: [], seconds: null, machines: 3 };
  return rollout;
}

function approved(approval: Rules["approval"]): Rollout {
  const rollout = waiting(approval, "one");
  equal(approve.refuse(rollout, { plan: "one" }), undefined);
  approve.apply(rollout, { plan: "one", by: "ada" });
  return rollout;
}

for (const approval of ["BeforeFirst", "BeforeEachWave"] as const) {
  Deno.test(`approve answers the same request the same, and tells it once, with ${approval}`, () => {
    const rollout = approved(approval);
    const [news, wave] = [rollout.news, rollout.wave];
    // Whatever was read since: machines of this wave are replaced.
    planned(rollout, "two");
    equal(approve.refuse(rollout, { plan: "one" }), undefined);
    equal(approve.apply(rollout, { plan: "one", by: "ben" }), "Plan one may begin with wave 1");
    deepEqual([rollout.news, rollout.wave, rollout.approvedHash], [news, wave, "one"]);
  });

  Deno.test(`approve refuses a stale plan though another was approved, with ${approval}`, () => {
    match(
      approve.refuse(approved(approval), { plan: "none" }) ?? "",
      /plan "none" is stale; "one" is approved already/,
    );
  });
}

Deno.test("approve of one wave is not that of the next one", () => {
  const rollout = approved("BeforeEachWave");
  rollout.wave = { ...freshWave(), index: 1 };
  rollout.plan = undefined;
  match(approve.refuse(rollout, { plan: "one" }) ?? "", /no plan waits/);
  planned(rollout, "two");
  match(approve.refuse(rollout, { plan: "one" }) ?? "", /stale; the plan that waits is "two"/);
  equal(approve.refuse(rollout, { plan: "two" }), undefined);
  equal(approve.apply(rollout, { plan: "two" }), "Plan two may begin with wave 2");
});

Deno.test("approve holds for the change that it was given for, and not when that comes again", () => {
  const rollout = approved("BeforeFirst");
  beginChange(rollout, "another");
  beginChange(rollout, "spec");
  deepEqual([rollout.approvedPlan, rollout.approvedHash], ["", ""]);
  match(approve.refuse(planned(rollout, "two"), { plan: "one" }) ?? "", /stale/);
});
