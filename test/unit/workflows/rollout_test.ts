import { deepEqual, equal } from "node:assert/strict";
import type { CarriedState, Desired } from "../../../workflows/contracts/mod.ts";
import type { ParsedInput } from "../../../workflows/state/input.ts";
import {
  beginChange,
  carriedState,
  freshWave,
  historyEntry,
  openRollout,
  recordJoin,
  recordReplacement,
  tell,
} from "../../../workflows/state/rollout.ts";
import { pool } from "../../support/machine_objects.ts";

const join = { machine: "b", node: "node-b", image: "i", kubelet: "k" };
const replacement = { machine: "a", replacedBy: "b", image: "i", kubelet: "k", drainedSeconds: 1 };
const request = { by: "ada", reason: "incident", since: 2000 };
const bad = { ...request, specHash: "s2", templateHash: "t2", revision: "2", image: "i2", kubelet: "k2" };

const carried: CarriedState = {
  schemaVersion: 2,
  memory: { paused: request, quarantine: [bad], lastGood: null, usual: { join: [4], leave: [9] }, left: null },
  ...{ startedAt: 1000, startedFor: "g7", change: "s2", failedMachines: 2, retries: [1] },
  repaired: ["f"],
  dropped: { g: { since: 3000, attempt: 0, templateHash: "t3" } },
  begun: { templateHash: "t2", configDigest: "d2" },
  ...{ booting: { c: { since: 3000, attempt: 1 } }, failed: ["x"], retriedAt: 5000 },
  draining: { a: { since: 4000, templateHash: "t1", image: "i", kubelet: "k" } },
  ...{
    setAside: ["d"],
    skipped: ["e"],
    rolled: true,
    approvedPlan: "s2",
    approvedHash: "h2",
    slots: ["b"],
    abortAsked: request,
  },
  wave: { index: 1, soakUntil: 6000, passed: true, approved: true },
  countedBy: { waves: [{ upTo: 1, soak: 2 }], growth: null, replicas: 3 },
  rollBack: { ...request, kind: "Abort", bad, reapplied: 3 },
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

Deno.test("openRollout starts empty without a run before it, and has to recall", () => {
  const rollout = openRollout(input());
  const { startedAt, memory, wave, ...state } = carriedState(rollout);
  equal(Math.abs(Date.now() - startedAt) < 10_000, true);
  deepEqual([memory.paused, memory.quarantine, memory.lastGood, wave], [null, [], null, freshWave()]);
  equal(rollout.recalled, false);
  deepEqual([state.change, state.booting, state.draining, state.rolled, state.joins], ["", {}, {}, false, []]);
});

Deno.test("beginChange starts the counters afresh, but keeps what is being left on the way back", () => {
  const rollout = openRollout(input({ ...carried, rollBack: null }));
  beginChange(rollout, "s3");
  deepEqual([rollout.change, rollout.failedMachines, rollout.skipped, rollout.wave], ["s3", 0, [], freshWave()]);
  equal(rollout.startedAt > 1000, true);
  const back = openRollout(input(carried));
  beginChange(back, "s1");
  deepEqual([back.change, back.failedMachines, back.retries, back.startedAt], ["s1", 2, [], 1000]);
});

Deno.test("recordJoin measures from the start of the boot and forgets it", () => {
  const rollout = openRollout(input());
  rollout.booting = { b: { since: 10_000, attempt: 0 }, c: { since: 1, attempt: 0 } };
  recordJoin(rollout, { ...join, readyAt: 22_300 });
  const [{ joinedSeconds, ...rest } = { joinedSeconds: 0 }] = rollout.joins;
  deepEqual(rest, join);
  equal(joinedSeconds, 12.3);
  deepEqual([Object.keys(rollout.booting), rollout.memory.usual.join], [["c"], [12.3]]);
});

Deno.test("recordReplacement counts all, and keeps the last hundred and the last twenty times", () => {
  const rollout = openRollout(input());
  for (let nth = 0; nth < 150; nth++) recordReplacement(rollout, { ...replacement, machine: `m${nth}` }, nth);
  deepEqual([rollout.replaced, rollout.replacements.length, rollout.replacements[0]?.machine], [150, 100, "m50"]);
  deepEqual([rollout.memory.usual.leave.length, rollout.memory.usual.leave[0]], [20, 130]);
});

Deno.test("tell keeps what happened last when nothing can be written", () => {
  const rollout = openRollout(input());
  for (let nth = 0; nth < 200; nth++) tell(rollout, "Admitted", `m${nth}`);
  equal(rollout.news.length <= 50, true);
  equal(rollout.news.at(-1)?.message, "m199");
});

Deno.test("historyEntry is about the change that was left, and who left it", () => {
  const rollout = openRollout(input(carried));
  rollout.desired = { revision: "3", image: "i1", kubelet: "k1", actor: "kubectl" } as Desired;
  const left = historyEntry(rollout, "Aborted");
  deepEqual([left.revision, left.image, left.kubelet, left.actor, left.reason], ["2", "i2", "k2", "ada", "incident"]);
  rollout.rollBack = null;
  const { revision, image, actor, reason } = historyEntry(rollout, "Converged");
  deepEqual([revision, image, actor, reason], ["3", "i1", "kubectl", ""]);
});
