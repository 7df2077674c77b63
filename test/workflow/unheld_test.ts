/**
 * New machines without a hold, because the webhook that sets the hold was down: they boot immediately, and the rollout
 * continues.
 */
import { deepEqual, equal, ok } from "node:assert/strict";
import type { FakePool } from "../support/fake_pool.ts";
import { assertRuns } from "../support/pool_checks.ts";
import { onStage } from "../support/workflow_stage.ts";

const test = onStage();

/**
 * Asserts all promises of a rollout but one: without holds, more machines can boot concurrently than the budget allows.
 */
function assertServed(pool: FakePool): void {
  deepEqual([pool.violations.filter((one) => !/^\d+ booted$/.test(one)), pool.leftovers()], [[], []]);
}

test("unheld machines: the rollout converges, and leaves no hold or mark, while the webhook that holds new machines is down", async (stage) => {
  const pool = await stage.grownPool();
  pool.isAdmissionDown = true;
  pool.change({ image: "image-2" });
  const result = await (await stage.rollOut(pool)).result();
  equal(result.outcome, "Converged");
  assertRuns(pool, "image-2");
  assertServed(pool);
  pool.isAdmissionDown = false;
  pool.change({ image: "image-3" });
  await (await stage.rollOut(pool)).result();
  assertRuns(pool, "image-3");
  assertServed(pool);
});

test("unheld machines: the webhook holds the remaining new machines when it is up again during a rollout", async (stage) => {
  const pool = await stage.grownPool({ replicas: 4 });
  pool.isAdmissionDown = true;
  pool.before["ensureVictimReleased"] = () => void (pool.isAdmissionDown = false);
  pool.change({ image: "image-2" });
  await (await stage.rollOut(pool)).result();
  assertRuns(pool, "image-2");
  ok(pool.count("ensureMachineAdmitted") > 0, pool.calls.join(", "));
  assertServed(pool);
});
