import { deepEqual } from "node:assert/strict";
import { defaultRules } from "../../../../activities/policy/default_rules.ts";
import { noteChange } from "../../../../workflows/steps/prepare.ts";
import { commands } from "../../../../workflows/commands/commands.ts";
import { isApproved } from "../../../../workflows/state/approval.ts";
import { carriedState } from "../../../../workflows/state/input.ts";
import type { Rollout } from "../../../../workflows/state/rollout.ts";
import { openRun } from "../../../support/open_run.ts";
import { desired } from "../policy/simulation/picture.ts";

const rules = { ...defaultRules, approval: "BeforeFirst" as const };
const soaking = { index: 1, soakUntil: 9_000, passed: true, approved: true };

/** A run in its second wave, with an approved plan, a skipped machine, and a machine that failed its last attempt. */
function running(): Rollout {
  const rollout = openRun();
  noteChange(rollout, { desired, rules });
  rollout.target.desired = desired;
  rollout.people.plan = { hash: "one" };
  commands.approve.apply(rollout, { plan: "one", by: "ada" });
  commands.skip.apply(rollout, { machine: "a", by: "ada" });
  rollout.waves.current = soaking;
  rollout.waves.rolled = true;
  rollout.machines.failed = ["x"];
  rollout.machines.failures = 1;
  return rollout;
}

function commandsOf(rollout: Rollout): unknown[] {
  const { people, waves } = rollout;
  return [people.skipped, isApproved(rollout), people.plan?.hash, waves.current, waves.rolled];
}

const kept = [["a"], true, "one", soaking, true];
const edited = { ...desired, specHash: "of another profile" };

Deno.test("fault E3: noteChange keeps commands of people and the state of waves when the profile is edited", () => {
  const rollout = running();
  noteChange(rollout, { desired: edited, rules });
  deepEqual(commandsOf(rollout), kept);
});

Deno.test("fault E3: noteChange resets the attempts of failed machines when the profile is edited", () => {
  const rollout = running();
  noteChange(rollout, { desired: edited, rules });
  const { machines: { failed, failures, booting } } = rollout;
  deepEqual([failed, failures, Object.keys(booting)], [[], 0, ["x"]]);
});

Deno.test("fault E11: noteChange keeps skipped machines when Ostler itself changed the template, and drops them otherwise", () => {
  const skippedAfter = (stamped: string | boolean, stamp?: string): string[] => {
    const rollout = running();
    rollout.target.stamped = stamped;
    noteChange(rollout, { desired: { ...edited, templateHash: "another", ...(stamp ? { stamp } : {}) }, rules });
    return rollout.people.skipped;
  };
  deepEqual([skippedAfter("one", "one"), skippedAfter(true, "one"), skippedAfter(true)], [["a"], ["a"], ["a"]]);
  deepEqual([skippedAfter("one", "two"), skippedAfter("one"), skippedAfter(false, "one")], [[], [], []]);
});

Deno.test("noteChange: drops the commands for the previous template when the template changes", () => {
  const rollout = running();
  noteChange(rollout, { desired: { ...edited, templateHash: "another" }, rules });
  const { current } = rollout.waves;
  deepEqual([rollout.people.skipped, isApproved(rollout), current.index, rollout.waves.rolled], [[], false, 0, false]);
});

Deno.test("fault E3: noteChange keeps commands that a run of an earlier version of Ostler accepted", () => {
  const before = running();
  const carried = carriedState(before);
  carried.target.template = "";
  carried.people.approvedPlan = desired.specHash;
  const rollout = openRun({}, carried);
  noteChange(rollout, { desired, rules });
  deepEqual(commandsOf(rollout), kept);
});
