import { deepEqual, equal } from "node:assert/strict";
import { eventually } from "../support/eventually.ts";
import { failure } from "../support/fake_activities.ts";
import type { FakePool } from "../support/fake_pool.ts";
import { onStage } from "../support/workflow_stage.ts";
import type { Stage } from "../support/workflow_stage.ts";

const test = onStage();

async function assertEndsAt(stage: Stage, pool: FakePool, image: string): Promise<void> {
  const result = await stage.client.workflow.getHandle(pool.holder).result();
  deepEqual([result.outcome, result.image], ["Converged", image]);
  deepEqual(pool.machines.map(({ set }) => set.image), Array(pool.replicas).fill(image));
  deepEqual(pool.violations, []);
  deepEqual(pool.machines.filter(({ hold, mark }) => hold || mark), []);
}

test("rollOutMachineDeployment: a newer generation supersedes the earlier one while a machine joins", async (stage) => {
  const pool = await stage.grownPool();
  pool.fate = () => "registered";
  pool.change({ image: "image-2" });
  const handle = await stage.rollOut(pool);
  const { runId } = await handle.describe();
  await eventually("a join under way", () => pool.count("awaitMachinesJoined") === 1);
  pool.change({ image: "image-3" });
  pool.mend();
  await stage.tell(pool);
  await assertEndsAt(stage, pool, "image-3");
  equal((await handle.describe()).runId, runId);
});

test("rollOutMachineDeployment: finishes a drain before it begins a newer generation", async (stage) => {
  const pool = await stage.grownPool();
  pool.isDrainBlocked = true;
  pool.change({ image: "image-2" });
  await stage.rollOut(pool);
  await eventually("a drain under way", () => pool.count("awaitNodeDrained") >= 1);
  const looks = pool.count("readDesired");
  pool.change({ image: "image-3" });
  await stage.tell(pool);
  await eventually("a read of the change", () => pool.count("readDesired") > looks);
  pool.unblock();
  await assertEndsAt(stage, pool, "image-3");
  // The node was cordoned once, although the drain was awaited twice because a blocker was reported in between.
  const begun = pool.subjects("ensureNodeCordoned");
  equal(begun.filter((machine) => machine === begun[0]).length, 1);
});

test("rollOutMachineDeployment: keeps the old machines when the template is reverted", async (stage) => {
  const pool = await stage.grownPool();
  pool.fate = () => "registered";
  pool.change({ image: "image-2" });
  await stage.rollOut(pool);
  await eventually("a join under way", () => pool.count("awaitMachinesJoined") === 1);
  pool.change({ image: "image-1" });
  await stage.tell(pool);
  await assertEndsAt(stage, pool, "image-1");
  deepEqual(pool.machines.map(({ created }) => created), [1, 2, 3]);
  deepEqual(pool.drainedByController, []);
});

test("rollOutMachineDeployment: renders and publishes again after the profile was refused as invalid", async (stage) => {
  const pool = await stage.grownPool({ replicas: 1 });
  pool.isDrainBlocked = true;
  pool.change({ image: "image-2" });
  const handle = await stage.rollOut(pool);
  await eventually("a drain under way", () => pool.count("awaitNodeDrained") >= 1);
  pool.before["publishConfig"] = (times) => {
    if (times < 4) throw failure("ProfileInvalid", "Failed to render: the profile is broken");
  };
  pool.change({ image: "image-3" });
  await stage.tell(pool);
  pool.unblock();
  await assertEndsAt(stage, pool, "image-3");
  equal(pool.published?.revision, 3);
  equal((await handle.result()).revision, "3");
});

test("rollOutMachineDeployment: publishes a changed profile without replacing machines", async (stage) => {
  const pool = await stage.grownPool();
  const before = pool.published?.digest;
  pool.profileVersion = 2;
  const result = await (await stage.rollOut(pool)).result();
  deepEqual([result.replaced, result.joins], [0, []]);
  equal(pool.published?.digest === before, false);
  deepEqual(pool.writes(), []);
});

test("rollOutMachineDeployment: follows a scale-down during a rollout", async (stage) => {
  const pool = await stage.grownPool();
  pool.isDrainBlocked = true;
  pool.change({ image: "image-2" });
  await stage.rollOut(pool);
  await eventually("a drain under way", () => pool.count("awaitNodeDrained") >= 1);
  pool.change({ replicas: 2 });
  await stage.tell(pool);
  pool.unblock();
  await assertEndsAt(stage, pool, "image-2");
});

test("rollOutMachineDeployment: follows a scale-up during a rollout", async (stage) => {
  const pool = await stage.grownPool({ replicas: 2 });
  pool.fate = () => "registered";
  pool.change({ image: "image-2" });
  await stage.rollOut(pool);
  await eventually("a join under way", () => pool.count("awaitMachinesJoined") === 1);
  pool.change({ replicas: 4 });
  await stage.tell(pool);
  pool.mend();
  await assertEndsAt(stage, pool, "image-2");
});
