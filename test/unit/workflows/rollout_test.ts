import { deepEqual, equal } from "node:assert/strict";
import type { CarriedState } from "../../../workflows/contracts.ts";
import type { ParsedInput } from "../../../workflows/input.ts";
import { carriedState, describe, openRollout, recordJoin, recordReplacement } from "../../../workflows/rollout.ts";
import { pool } from "../../support/machine_objects.ts";

const join = { machine: "b", node: "node-b", image: "i", kubelet: "k" };
const replacement = { machine: "a", replacedBy: "b", image: "i", kubelet: "k", drainedSeconds: 1 };

const carried: CarriedState = {
  ...{ schemaVersion: 1, startedAt: 1000, failedMachines: 2, attempts: { change: "2 abc", used: 1 } },
  ...{ paused: { by: "somebody", reason: "incident", since: 2000 }, booting: { c: 3000 } },
  ...{ joins: [{ ...join, joinedSeconds: 4 }], replacements: [replacement], replaced: 7 },
};

function input(from?: CarriedState): ParsedInput {
  const hour = 3_600_000;
  const durations = {
    ...{ settle: hour, instance: hour, address: hour, registered: hour, ready: hour },
    ...{ drain: hour, gone: hour, recheck: hour },
  };
  return { pool, durations, attempts: 2, publishOnly: false, carried: from };
}

Deno.test("carriedState survives JSON and the next run of the chain", () => {
  const state = carriedState(openRollout(input(JSON.parse(JSON.stringify(carried)))));
  deepEqual(state, carried);
});

Deno.test("openRollout starts empty without a run before it", () => {
  const { startedAt, ...state } = carriedState(openRollout(input()));
  equal(Math.abs(Date.now() - startedAt) < 10_000, true);
  deepEqual(state, {
    ...{ schemaVersion: 1, failedMachines: 0, attempts: { change: "", used: 0 }, paused: null, booting: {} },
    ...{ joins: [], replacements: [], replaced: 0 },
  });
});

Deno.test("recordJoin measures from the start of the boot and forgets it", () => {
  const rollout = openRollout(input());
  rollout.booting = { b: 10_000, c: 1 };
  recordJoin(rollout, { ...join, readyAt: 22_300 });
  const [{ joinedSeconds, ...rest } = { joinedSeconds: 0 }] = rollout.joins;
  deepEqual(rest, join);
  equal(joinedSeconds, 12.3);
  deepEqual(rollout.booting, { c: 1 });
});

Deno.test("recordReplacement counts all and keeps the last hundred", () => {
  const rollout = openRollout(input());
  for (let nth = 0; nth < 150; nth++) recordReplacement(rollout, { ...replacement, machine: `m${nth}` });
  deepEqual([rollout.replaced, rollout.replacements.length, rollout.replacements[0]?.machine], [150, 100, "m50"]);
});

Deno.test("describe gives times as people write them and leaves out what is unknown", () => {
  const rollout = openRollout(input(carried));
  rollout.standing = { phase: "Rolling", reason: "Joining", message: "Joining b", since: 0, until: 60_000 };
  rollout.underway = { machine: "b", victim: "a", step: "Joining", since: 0, until: 60_000 };
  deepEqual(describe(rollout), {
    ...{ phase: "Rolling", reason: "Joining", message: "Joining b", paused: true },
    ...{ since: "1970-01-01T00:00:00.000Z", until: "1970-01-01T00:01:00.000Z" },
    replacement: {
      ...{ machine: "b", victim: "a", step: "Joining" },
      ...{ since: "1970-01-01T00:00:00.000Z", until: "1970-01-01T00:01:00.000Z" },
    },
    ...{ joins: carried.joins, replacements: carried.replacements },
  });
});
