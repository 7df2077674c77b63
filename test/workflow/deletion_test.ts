import { deepEqual, equal, rejects } from "node:assert/strict";
import { eventually } from "../support/eventually.ts";
import { failure } from "../support/fake_activities.ts";
import type { FakePool } from "../support/fake_pool.ts";
import { onStage, testDeadlines } from "../support/workflow_stage.ts";
import type { Handle, Stage } from "../support/workflow_stage.ts";

const test = onStage();

/** Deadlines with a recheck so late that only a signal of the deletion can end the wait. */
const patient = { ...testDeadlines, recheck: "1h" };

async function deleteAndSee(stage: Stage, pool: FakePool, handle: Handle): Promise<void> {
  pool.remove();
  await stage.tell(pool);
  equal((await handle.result()).outcome, "Deleted");
  equal(pool.count("ensurePoolCleanedUp"), 1);
  equal(pool.published, undefined);
  await eventually("the end of all machines", () => pool.machines.length === 0);
}

test("rollOutMachineDeployment: cleans up after a pool that is being deleted", async (stage) => {
  const pool = await stage.grownPool();
  pool.remove();
  const result = await (await stage.rollOut(pool)).result();
  equal(result.outcome, "Deleted");
  deepEqual(pool.writes(), ["ensurePoolCleanedUp"]);
});

test("rollOutMachineDeployment: cleans up when the pool is deleted during its creation", async (stage) => {
  const pool = stage.pool({ fate: () => "registered" });
  const handle = await stage.rollOut(pool, { deadlines: patient });
  await eventually("a join under way", () => pool.count("awaitMachinesJoined") === 3);
  await deleteAndSee(stage, pool, handle);
});

test("rollOutMachineDeployment: cleans up when the pool is deleted while a new machine joins", async (stage) => {
  const pool = await stage.grownPool();
  pool.fate = () => "address";
  pool.change({ image: "image-2" });
  const handle = await stage.rollOut(pool, { deadlines: patient });
  await eventually("a join under way", () => pool.count("awaitMachinesJoined") === 1);
  await deleteAndSee(stage, pool, handle);
});

test("rollOutMachineDeployment: cleans up when the pool is deleted during a drain", async (stage) => {
  const pool = await stage.grownPool();
  pool.isDrainBlocked = true;
  pool.change({ image: "image-2" });
  const handle = await stage.rollOut(pool, { deadlines: patient });
  await eventually("a drain under way", () => pool.count("awaitNodeDrained") >= 1);
  await deleteAndSee(stage, pool, handle);
});

test("rollOutMachineDeployment: cleans up when the pool is deleted while it is halted", async (stage) => {
  const pool = stage.pool();
  pool.before["publishConfig"] = () => {
    throw failure("ProfileInvalid", "Failed to render: the profile is broken");
  };
  const handle = await stage.rollOut(pool, { deadlines: patient });
  await stage.stands(handle, "Halted", "ProfileInvalid");
  await deleteAndSee(stage, pool, handle);
});

test("rollOutMachineDeployment: cleans up when the pool is deleted while it is paused", async (stage) => {
  const pool = await stage.grownPool();
  pool.change({ image: "image-2" });
  pool.before["readPool"] = async () => {
    delete pool.before["readPool"];
    await stage.client.workflow.getHandle(pool.holder).signal("pauseRequested", {});
  };
  const handle = await stage.rollOut(pool, { deadlines: patient });
  await stage.stands(handle, "Rolling", "Paused");
  await deleteAndSee(stage, pool, handle);
});

test("rollOutMachineDeployment: cleans up when the pool is deleted before machine-controller has created a MachineSet", async (stage) => {
  const pool = stage.pool();
  Object.assign(pool, { isControllerDown: true, sets: [], machines: [] });
  const handle = await stage.rollOut(pool, { deadlines: patient });
  await stage.stands(handle, "Preparing", "Settling");
  await deleteAndSee(stage, pool, handle);
});

test("rollOutMachineDeployment: cleans up when the pool is deleted while a cancelled run stops", async (stage) => {
  const pool = await stage.grownPool();
  pool.fate = () => "address";
  pool.change({ image: "image-2" });
  const handle = await stage.rollOut(pool, { deadlines: patient });
  await stage.tell(pool);
  await eventually("a join under way", () => pool.count("awaitMachinesJoined") === 1);
  pool.before["ensureRolloutReported"] = async () => {
    if (pool.state !== "Present") return;
    pool.remove();
    await stage.tell(pool);
  };
  await handle.cancel();
  equal((await handle.result()).outcome, "Deleted");
  equal(pool.count("ensurePoolCleanedUp"), 1);
});

test("rollOutMachineDeployment: stays cancelled after a repeated signal", async (stage) => {
  const pool = await stage.grownPool();
  pool.fate = () => "address";
  pool.change({ image: "image-2" });
  const handle = await stage.rollOut(pool, { deadlines: patient });
  await stage.tell(pool);
  await eventually("a join under way", () => pool.count("awaitMachinesJoined") === 1);
  pool.before["ensureRolloutReported"] = () => stage.tell(pool);
  await handle.cancel();
  await rejects(handle.result(), (error: Error) => (error.cause as Error).name === "CancelledFailure");
});
