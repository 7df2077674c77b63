import { deepEqual, equal, ok } from "node:assert/strict";
import type { FakePool } from "../support/fake_pool.ts";
import { onStage } from "../support/workflow_stage.ts";

// The worker keeps no workflow in memory: every task replays the whole history.
const test = onStage({ maxCachedWorkflows: 0 });

/**
 * Asserts the invariants of every rollout: no violation by the pool's own checks, no drain by machine-controller, and
 * no hold or mark at the end.
 */
function assertOrderly(pool: FakePool): void {
  deepEqual(pool.violations, []);
  deepEqual(pool.drainedByController, []);
  deepEqual(pool.machines.filter(({ hold, mark }) => hold || mark), []);
}

test("rollOutMachineDeployment: replaces three machines one by one, oldest first", async (stage) => {
  const pool = await stage.grownPool();
  pool.change({ image: "image-2", kubelet: "1.36.1" });
  const result = await (await stage.rollOut(pool)).result();
  assertOrderly(pool);
  const { name } = pool.ref;
  deepEqual(
    result.replacements.map(({ machine, replacedBy, image }) => [machine, replacedBy, image]),
    [1, 2, 3].map((nth) => [`${name}-${nth}`, `${name}-${nth + 3}`, "image-1"]),
  );
  deepEqual(result.joins.map(({ image, kubelet }) => `${image} ${kubelet}`), Array(3).fill("image-2 1.36.1"));
  deepEqual(pool.machines.map(({ set }) => set.image), Array(3).fill("image-2"));
});

test("rollOutMachineDeployment: begins no step twice when the pool was read before a step ended", async (stage) => {
  const pool = await stage.grownPool({ replicas: 4, surge: 2 });
  pool.rules.budget.machines = 2;
  pool.after["readPool"] = () => new Promise((resolve) => setTimeout(resolve, 150));
  pool.change({ image: "image-2" });
  const result = await (await stage.rollOut(pool)).result();
  deepEqual([result.replaced, result.joins.length, result.replacements.length], [4, 4, 4]);
  deepEqual([pool.count("awaitMachinesJoined"), pool.count("ensureVictimReleased")], [4, 4]);
  assertOrderly(pool);
});

test("rollOutMachineDeployment: runs the steps of one replacement in order", async (stage) => {
  const pool = await stage.grownPool({ replicas: 1 });
  pool.change({ image: "image-2" });
  await (await stage.rollOut(pool)).result();
  const [old, next] = [pool.nth(1), pool.nth(2)];
  deepEqual(pool.calls.filter((call) => !/^(read|recall|ensureRollout|render|publish|awaitPool)/.test(call)), [
    `ensureVictimMarked ${old}`,
    `ensureMachineAdmitted ${next}`,
    `awaitMachinesJoined ${next}`,
    `ensureVictimUnmarked ${next}`, // until it has joined, a new machine is marked as the first to be removed
    `ensureNodeCordoned ${old}`,
    `awaitNodeDrained node-${old}`,
    `ensureVictimReleased ${old}`,
    `awaitMachineGone ${old}`,
  ]);
  assertOrderly(pool);
});

test("rollOutMachineDeployment: reports machines in progress with step and deadline", async (stage) => {
  const pool = await stage.grownPool({ replicas: 1 });
  pool.change({ image: "image-2" });
  await (await stage.rollOut(pool)).result();
  const steps = pool.reports.flatMap(({ underway }) => underway);
  const told = new Set(steps.map(({ machine, step }) => `${step} ${machine}`));
  ok(told.has(`Joining ${pool.nth(2)}`) && told.has(`Draining ${pool.nth(1)}`), [...told].join());
  ok(steps.every(({ since, until }) => since <= until));
  const last = pool.reports.at(-1);
  deepEqual([last?.underway, last?.updated, last?.revision, last?.image], [[], "1/1", "2", "image-2"]);
  // The history is compared, because the last report can be a repetition without a history entry, if a machine was
  // deleted just then.
  const { outcome, image, actor, machines, reason } = pool.history.at(-1) ?? {};
  deepEqual([outcome, image, actor, machines, reason], ["Converged", "image-2", "kubectl-edit", 1, ""]);
});

test("rollOutMachineDeployment: replaces one by one even if the surge is larger", async (stage) => {
  const pool = await stage.grownPool({ surge: 2 });
  pool.change({ image: "image-2" });
  const result = await (await stage.rollOut(pool)).result();
  assertOrderly(pool);
  equal(result.replaced, 3);
});

test("rollOutMachineDeployment: works without surge, where machine-controller deletes the old machine before it creates a new one", async (stage) => {
  const pool = await stage.grownPool({ surge: 0 });
  pool.change({ image: "image-2" });
  const result = await (await stage.rollOut(pool)).result();
  equal(result.outcome, "Converged");
  deepEqual(pool.machines.map(({ set }) => set.image), Array(3).fill("image-2"));
  // One machine may be out at a time, never two.
  deepEqual(pool.violations.filter((violation) => violation !== "2 Ready"), []);
});

test("rollOutMachineDeployment: does not treat a scale-up as a rollout", async (stage) => {
  const pool = await stage.grownPool();
  pool.joinOnceAwaited();
  pool.change({ replicas: 5 });
  const result = await (await stage.rollOut(pool)).result();
  equal(result.joins.length, 2);
  deepEqual([result.replaced, pool.writes()], [0, []]);
});

test("rollOutMachineDeployment: does not treat a scale-down as a rollout", async (stage) => {
  const pool = await stage.grownPool();
  pool.change({ replicas: 2 });
  const result = await (await stage.rollOut(pool)).result();
  deepEqual([result.outcome, pool.machines.length], ["Converged", 2]);
  deepEqual([result.replaced, result.replacements, pool.writes()], [0, [], []]);
});

test("rollOutMachineDeployment: replaces the old machines, and adds one that replaces none, when scale and image change at once", async (stage) => {
  const pool = await stage.grownPool({ replicas: 2 });
  pool.change({ image: "image-2", replicas: 3 });
  const result = await (await stage.rollOut(pool)).result();
  assertOrderly(pool);
  deepEqual([result.joins.length, result.replaced], [3, 2]);
});
