import { deepEqual } from "node:assert/strict";
import type { Desired } from "../../../../workflows/contracts/mod.ts";
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
