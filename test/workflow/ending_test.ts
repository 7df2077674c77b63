/** A signal, command or cancellation that arrives while a rollout ends is still handled, and does not undo the end. */
import { deepEqual, equal, match, ok, rejects } from "node:assert/strict";
import type { FakePool } from "../support/fake_pool.ts";
import { assertRuns, gateOf } from "../support/pool_checks.ts";
import { onStage } from "../support/workflow_stage.ts";

const test = onStage();

/** Calls `act` when the report of the convergence is written, and before the run gets its result. */
function whenConverged(pool: FakePool, act: () => Promise<void>): void {
  pool.after["ensureRolloutReported"] = async () => {
    if (pool.reports.at(-1)?.phase !== "Converged") return;
    delete pool.after["ensureRolloutReported"];
    await act();
  };
}

test("ending: a signal at the moment of convergence does not repeat the report", async (stage) => {
  const pool = await stage.grownPool({ rules: { gates: [gateOf("EachWave")] } });
  whenConverged(pool, () => stage.tell(pool));
  pool.change({ image: "image-2" });
  equal((await (await stage.rollOut(pool)).result()).outcome, "Converged");
  const told = pool.reports.filter(({ history }) => history !== undefined);
  deepEqual([told.length, pool.history.length, pool.count("awaitGates")], [1, 2, 1]);
});

test("ending: abort is refused at the moment of convergence, because there is nothing to roll back", async (stage) => {
  const pool = await stage.grownPool();
  let refused = Promise.resolve("");
  whenConverged(pool, async () => {
    // Not awaited here: the answer needs a workflow task, which may wait until this report returns.
    refused = stage.ask(pool, "abort").then(() => "", (error: { cause?: Error }) => String(error.cause?.message));
    await stage.tell(pool);
  });
  pool.change({ image: "image-2" });
  equal((await (await stage.rollOut(pool)).result()).outcome, "Converged");
  assertRuns(pool, "image-2");
  match(await refused, /no rollout is in progress/);
  equal(pool.rollout.left ?? null, null);
});

test("ending: a cancelled rollout removes more holds than one read lists", async (stage) => {
  const pool = stage.pool({ replicas: 1 });
  pool.change({ image: "image ".repeat(80) });
  await (await stage.rollOut(pool)).result();
  pool.isControllerDown = true;
  const [first] = pool.machines;
  ok(first);
  const bound = { hold: pool.holder, mark: pool.holder };
  pool.machines = Array.from({ length: 250 }, (_, nth) => ({ ...first, ...bound, name: pool.nth(nth + 1) }));
  pool.calls.length = 0;
  pool.before["readPool"] = async (times) => {
    if (times === 1) await stage.client.workflow.getHandle(pool.holder).cancel();
  };
  await rejects((await stage.rollOut(pool)).result());
  // A busy worker may repeat the removal of a mark, which is idempotent, so each machine is counted once.
  deepEqual([pool.leftovers(), new Set(pool.subjects("ensureVictimUnmarked")).size], [[], 250]);
  ok(pool.count("readPool") <= 4, `${pool.count("readPool")} looks`);
});
