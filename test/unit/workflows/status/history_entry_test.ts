import { deepEqual, equal } from "node:assert/strict";
import type { Desired } from "../../../../workflows/contracts/mod.ts";
import { addJoin } from "../../../../workflows/state/records.ts";
import { beginChange, type Rollout } from "../../../../workflows/state/rollout.ts";
import { historyEntry } from "../../../../workflows/status/report.ts";
import { carriedNow } from "../../../support/carried_states.ts";
import { openRun } from "../../../support/open_run.ts";

Deno.test("historyEntry: describes the abandoned change and its actor after a rollback", () => {
  const desired = { revision: "3", image: "i1", kubelet: "k1", actor: "kubectl" } as Desired;
  const rollout = openRun({ target: { desired } }, carriedNow);
  const left = historyEntry(rollout, "Aborted");
  deepEqual([left.revision, left.image, left.kubelet, left.actor, left.reason], ["2", "i2", "k2", "ada", "incident"]);
  const { memory } = rollout;
  memory.rollback = null;
  const { revision, image, actor, reason } = historyEntry(rollout, "Converged");
  deepEqual([revision, image, actor, reason], ["3", "i1", "kubectl", ""]);
});

function join(rollout: Rollout, machines: number): void {
  for (let nth = 0; nth < machines; nth++) {
    addJoin(rollout.records, { machine: `m${nth}`, node: "n", image: "i", kubelet: "k", joinedSeconds: 1 });
  }
}

Deno.test("historyEntry: counts every machine of its rollout, also more than the run remembers", () => {
  const rollout = openRun();
  beginChange(rollout, { specHash: "s1", templateHash: "t1" });
  join(rollout, 150);
  deepEqual([historyEntry(rollout, "Converged").machines, rollout.records.joins.length], [150, 100]);
});

Deno.test("historyEntry: counts no machine of an earlier rollout of the same run", () => {
  const rollout = openRun();
  beginChange(rollout, { specHash: "s1", templateHash: "t1" });
  join(rollout, 3);
  beginChange(rollout, { specHash: "s2", templateHash: "t2" });
  join(rollout, 2);
  equal(historyEntry(rollout, "Converged").machines, 2);
});

Deno.test("historyEntry: counts the machines that joined before this version of Ostler continued the rollout", () => {
  const rollout = openRun({}, carriedNow);
  rollout.records.joined = null;
  join(rollout, 1);
  equal(historyEntry(rollout, "Converged").machines, 2);
});
