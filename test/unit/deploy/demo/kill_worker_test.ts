import assert from "node:assert/strict";
import { isMiddle } from "../../../../deploy/local/demo/demo.ts";
import type { Progress, ReplacementRecord, Underway } from "../../../../workflows/contracts/mod.ts";

function told(replaced: number, step: Underway["step"] | undefined): Progress {
  const record: ReplacementRecord = { machine: "a", replacedBy: "b", image: "", kubelet: "", drainedSeconds: 1 };
  return {
    ...{ phase: "Rolling", reason: "", message: "", since: "", paused: false, policy: "defaults" },
    ...{ waves: [], wave: 1, quarantine: [], failedMachines: 0, skipped: [], setAside: [], joins: [] },
    underway: step === undefined ? [] : [{ machine: "c", step, since: "", until: "" }],
    replacements: Array.from({ length: replaced }, () => record),
  };
}

Deno.test("isMiddle: returns true when one machine was replaced and the next new one boots", () => {
  assert.equal(isMiddle(told(0, "Joining"), 3), false);
  assert.equal(isMiddle(told(1, undefined), 3), false);
  assert.equal(isMiddle(told(1, "Draining"), 3), false);
  assert.equal(isMiddle(told(1, "Joining"), 3), true);
});

Deno.test("isMiddle: returns true at the only boot in a pool of one machine, and at any time after two replacements in a running rollout", () => {
  assert.equal(isMiddle(told(0, "Joining"), 1), true);
  assert.equal(isMiddle(told(2, "Draining"), 3), true);
  assert.equal(isMiddle({ ...told(1, "Joining"), phase: "Converged" }, 3), false);
});
