import { deepEqual, equal } from "node:assert/strict";
import { recordJoin, recordReplacement } from "../../../../workflows/state/results.ts";
import { carriedState } from "../../../../workflows/state/input.ts";
import { beginChange, tell } from "../../../../workflows/state/rollout.ts";
import { freshWave } from "../../../../workflows/state/waves.ts";
import { carriedNow } from "../../../support/carried_states.ts";
import { openRun } from "../../../support/open_run.ts";

const join = { machine: "b", node: "node-b", image: "i", kubelet: "k" };
const replacement = { machine: "a", replacedBy: "b", image: "i", kubelet: "k", drainedSeconds: 1 };

Deno.test("openRollout: without a previous run of the chain, starts empty and has yet to recall earlier state from the Rollout", () => {
  const rollout = openRun();
  const { target, people, memory, waves, machines, records } = carriedState(rollout);
  equal(Math.abs(Date.now() - target.startedAt) < 10_000, true);
  deepEqual([people.paused, memory.quarantine, memory.lastGood, waves.current], [null, [], null, freshWave()]);
  deepEqual([target.change, machines.booting, machines.draining, waves.rolled, records.joins], ["", {}, {}, false, []]);
  equal(rollout.memory.recalled, false);
});

Deno.test("openRollout: does not have to recall earlier state when a previous run of the chain passed it on", () => {
  equal(openRun({}, carriedNow).memory.recalled, true);
});

Deno.test("beginChange: resets the counters at a new change, but keeps those of the abandoned change when a rollback begins", () => {
  const { memory } = carriedNow;
  const rollout = openRun({}, { ...carriedNow, memory: { ...memory, rollback: null } });
  beginChange(rollout, { specHash: "s3", templateHash: "t3" });
  const { target, machines, people, waves } = rollout;
  deepEqual([target.change, machines.failures, people.skipped, waves.current], ["s3", 0, [], freshWave()]);
  equal(target.startedAt > 1000, true);
  const back = openRun({}, carriedNow);
  beginChange(back, { specHash: "s1", templateHash: "t1" });
  const { change, startedAt } = back.target;
  deepEqual([change, back.machines.failures, back.machines.retries, startedAt], ["s1", 2, [], 1000]);
});

Deno.test("recordJoin: measures the join from the start of the boot, and removes the record of the boot", () => {
  const booting = { b: { since: 10_000, attempt: 0 }, c: { since: 1, attempt: 0 } };
  const rollout = openRun({ machines: { booting } });
  recordJoin(rollout, { ...join, readyAt: 22_300 });
  const [{ joinedSeconds, ...rest } = { joinedSeconds: 0 }] = rollout.records.joins;
  deepEqual(rest, join);
  equal(joinedSeconds, 12.3);
  deepEqual([Object.keys(rollout.machines.booting), rollout.memory.usual.join], [["c"], [12.3]]);
});

Deno.test("recordReplacement: counts all replacements, and keeps the last hundred of them and the durations of the last twenty", () => {
  const { records, memory } = openRun();
  for (let nth = 0; nth < 150; nth++) {
    recordReplacement({ records, memory }, { ...replacement, machine: `m${nth}` }, nth);
  }
  deepEqual([records.replaced, records.replacements.length, records.replacements[0]?.machine], [150, 100, "m50"]);
  deepEqual([memory.usual.leave.length, memory.usual.leave[0]], [20, 130]);
});

Deno.test("rollout: keeps at most the latest fifty Events while no Event can be written", () => {
  const { view } = openRun();
  for (let nth = 0; nth < 200; nth++) tell(view, "Admitted", `m${nth}`);
  equal(view.news.length <= 50, true);
  equal(view.news.at(-1)?.message, "m199");
});
