/** A change of replicas during a rollout only adds or removes machines, and is not itself a rollout. */
import { deepEqual, equal } from "node:assert/strict";
import { setTimeout as pause } from "node:timers/promises";
import { eventually } from "../support/eventually.ts";
import type { FakePool } from "../support/fake_pool.ts";
import { assertOrderly, assertRuns } from "../support/pool_checks.ts";
import { onStage, testDeadlines } from "../support/workflow_stage.ts";
import type { Handle, Stage } from "../support/workflow_stage.ts";

const test = onStage();

/** Starts a rollout, and returns when it soaks after its first machine. */
async function soakingRollout(stage: Stage, replicas: number): Promise<{ pool: FakePool; handle: Handle }> {
  const waves = [{ upTo: 1, soak: 3_600_000 }, { upTo: "100%", soak: 0 }];
  const pool = await stage.grownPool({ replicas, rules: { waves } });
  pool.change({ image: "image-2" });
  const handle = await stage.rollOut(pool);
  await stage.stands(handle, "Rolling", "Soaking");
  return { pool, handle };
}

test("scaling: a scale-up during a rollout adds machines, and does not increase the number of replaced machines", async (stage) => {
  const { pool, handle } = await soakingRollout(stage, 2);
  pool.change({ replicas: 4 });
  await stage.tell(pool);
  await stage.ask(pool, "promote");
  const result = await handle.result();
  deepEqual([result.replaced, new Set(pool.subjects("ensureVictimMarked")).size], [2, 2]);
  assertRuns(pool, "image-2");
  assertOrderly(pool);
});

test("scaling: a scale-up is not delayed by a soak", async (stage) => {
  const { pool, handle } = await soakingRollout(stage, 2);
  pool.change({ replicas: 4 });
  await stage.tell(pool);
  await eventually("the capacity", () => pool.machines.filter(({ ready }) => ready).length >= 4);
  equal(pool.count("ensureVictimMarked"), 1);
  await handle.cancel();
});

test("scaling: a scale-up during a drain admits the added machines, however late machine-controller creates them", async (stage) => {
  const pool = await stage.grownPool();
  pool.isDrainBlocked = true;
  pool.change({ image: "image-2" });
  const handle = await stage.rollOut(pool, { deadlines: { ...testDeadlines, recheck: "1h", drain: "1h" } });
  await eventually("a drain", () => pool.count("awaitNodeDrained") >= 1);
  pool.isControllerDown = true;
  const looks = pool.count("readPool");
  pool.change({ replicas: 5 });
  await stage.tell(pool);
  await eventually("a read before they are made", () => pool.count("readPool") > looks);
  await pause(500);
  pool.isControllerDown = false;
  pool.touch();
  await eventually("the capacity", () => pool.count("ensureMachineAdmitted") >= 3);
  pool.unblock();
  await handle.result();
  assertRuns(pool, "image-2");
});

test("scaling: a scale-down during a rollout removes old machines first", async (stage) => {
  const { pool, handle } = await soakingRollout(stage, 4);
  pool.change({ replicas: 2 });
  await stage.tell(pool);
  await eventually("it done", () => pool.machines.filter(({ ready }) => ready).length === 2);
  deepEqual(pool.machines.filter(({ ready }) => ready).map(({ set }) => set.image).sort(), ["image-1", "image-2"]);
  await stage.ask(pool, "promote");
  await handle.result();
  assertRuns(pool, "image-2");
  deepEqual(pool.leftovers(), []);
});

test("scaling: a scale-up of a converged pool boots machines at once, whatever the policy blocks", async (stage) => {
  const rules = { approval: "BeforeEachWave", waves: [{ upTo: 1, soak: 3_600_000 }] } as const;
  const pool = await stage.grownPool({ rules: { ...rules, waves: [...rules.waves] } });
  pool.joinOnceAwaited();
  pool.change({ replicas: 6 });
  const { joins, outcome } = await (await stage.rollOut(pool)).result();
  deepEqual([outcome, joins.length, pool.writes()], ["Converged", 3, []]);
});

test("scaling: protects only the node that is being drained from scale-down by the autoscaler", async (stage) => {
  const pool = await stage.grownPool();
  const kept: string[][] = [];
  pool.before["awaitNodeDrained"] = () => {
    kept.push(pool.machines.filter((machine) => machine.isSparedByAutoscaler).map(({ name }) => name));
  };
  pool.change({ image: "image-2" });
  await (await stage.rollOut(pool)).result();
  deepEqual(kept, [1, 2, 3].map((nth) => [pool.nth(nth)]));
  assertOrderly(pool);
});
