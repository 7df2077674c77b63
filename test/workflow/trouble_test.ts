import { deepEqual, equal, match, ok } from "node:assert/strict";
import { setTimeout as pause } from "node:timers/promises";
import { eventually } from "../support/eventually.ts";
import { failure } from "../support/fake_activities.ts";
import type { FakePool } from "../support/fake_pool.ts";
import { budgetOf, gateOf } from "../support/pool_checks.ts";
import { onStage, testDeadlines } from "../support/workflow_stage.ts";

const test = onStage();

/** Deadlines far longer than a healthy machine takes to join here, and short enough for a test to wait for. */
const shortLadder = { ...testDeadlines, instance: 1200, address: 1200, registered: 1200, ready: 1200 };

function assertOrderly(pool: FakePool): void {
  deepEqual(pool.violations, []);
  deepEqual(pool.drainedByController, []);
  deepEqual(pool.machines.filter(({ hold, mark }) => hold || mark), []);
}

test("A11 rollOutMachineDeployment: recreates a machine that does not join, reports why, and continues", async (stage) => {
  const pool = await stage.grownPool();
  pool.fate = (nth) => nth === 4 ? "address" : "joins";
  pool.change({ image: "image-2" });
  const result = await (await stage.rollOut(pool, { deadlines: shortLadder })).result();
  deepEqual([result.outcome, result.replaced], ["Converged", 3]);
  deepEqual(pool.writes().filter((call) => call.startsWith("deleteMachine")), [`deleteMachine ${pool.ref.name}-4`]);
  assertOrderly(pool);
  const [event] = pool.events.filter(({ reason }) => reason === "JoinDeadlineExceeded");
  match(event?.message ?? "", /did not pass join stage "address"/);
});

test("rollOutMachineDeployment: halts when no attempt to join is left, and keeps every old machine", async (stage) => {
  const pool = await stage.grownPool();
  pool.fate = () => "ready";
  pool.change({ image: "image-2" });
  const handle = await stage.rollOut(pool, { deadlines: shortLadder });
  await stage.stands(handle, "Halted", "Quarantined");
  equal(pool.count("deleteMachine"), 2);
  // The last new machine is kept for inspection. If that machine joins later, the held old machine is replaced by
  // Ostler's rules.
  deepEqual(pool.machines.map(({ created, ready, leaving, cordoned }) => [created, ready, leaving, cordoned]), [
    ...[[1, true, false, false], [2, true, false, false], [3, true, false, false], [6, false, false, false]],
  ]);
  deepEqual(pool.machines.slice(0, 3).map(({ hold, mark }) => hold === mark), Array(3).fill(true));
  deepEqual(pool.violations, []);
  await handle.cancel();
});

test("rollOutMachineDeployment: continues after retry when the cause is gone", async (stage) => {
  const pool = await stage.grownPool();
  pool.fate = () => "instance";
  pool.change({ image: "image-2" });
  const deadlines = { ...shortLadder, recheck: "1h" };
  pool.rules.join.attempts = 1;
  const handle = await stage.rollOut(pool, { deadlines });
  await stage.stands(handle, "Halted", "Quarantined");
  pool.mend();
  await handle.executeUpdate("retry", { args: [{ by: "somebody", reason: "quota raised" }] });
  const result = await handle.result();
  deepEqual([result.outcome, result.image], ["Converged", "image-2"]);
});

test("rollOutMachineDeployment: halts also when a second task fails during the reconcile that halts", async (stage) => {
  const rules = { gates: [gateOf("EachMachine")], budget: budgetOf(2) };
  const pool = await stage.grownPool({ replicas: 6, surge: 2, rules });
  pool.before["awaitGates"] = async (times) => {
    const reads = pool.count("readDesired");
    if (times % 2 === 0) {
      await eventually("the reconcile that halts", () => pool.count("readDesired") > reads, { withinMs: 1000 }).catch(
        () => {},
      );
    }
    throw failure("ObjectInvalid", "Failed to create the Job: it was refused");
  };
  pool.after["readDesired"] = () => pause(200);
  pool.change({ image: "image-2" });
  const handle = await stage.rollOut(pool, { deadlines: { ...testDeadlines, recheck: "1h" } });
  await stage.stands(handle, "Halted", "ObjectInvalid");
  await eventually("the gates of both machines to be asked", () => pool.count("awaitGates") === 2);
  await pause(3000);
  equal(pool.count("awaitGates"), 2);
  await stage.stands(handle, "Halted", "ObjectInvalid");
  await handle.cancel();
});

test("rollOutMachineDeployment: gives a fixed profile fresh attempts without a command", async (stage) => {
  const pool = await stage.grownPool();
  pool.fate = () => "registered";
  pool.change({ image: "image-2" });
  pool.rules.join.attempts = 1;
  const handle = await stage.rollOut(pool, { deadlines: { ...shortLadder, recheck: "1h" } });
  await stage.stands(handle, "Halted", "Quarantined");
  pool.fate = () => "joins";
  pool.profileVersion = 2;
  await stage.tell(pool);
  equal((await handle.result()).image, "image-2");
});

test("rollOutMachineDeployment: gives each machine its own attempts", async (stage) => {
  const pool = stage.pool({ fate: () => "registered" });
  pool.joinOnceAwaited((nth) => nth > 3);
  pool.rules.join.attempts = 1;
  const result = await (await stage.rollOut(pool, { deadlines: shortLadder })).result();
  deepEqual([result.outcome, result.joins.length, pool.count("deleteMachine")], ["Converged", 3, 3]);
});

test("rollOutMachineDeployment: keeps the machine to be replaced when its new machine fails a gate, until another new machine has joined", async (stage) => {
  const pool = await stage.grownPool();
  pool.fate = (nth) => nth === 4 ? "gates" : "joins";
  pool.change({ image: "image-2" });
  const result = await (await stage.rollOut(pool, { deadlines: shortLadder })).result();
  deepEqual([result.outcome, result.replaced], ["Converged", 3]);
  assertOrderly(pool);
});

test("rollOutMachineDeployment: reports what remains when a drain takes too long, and continues later", async (stage) => {
  const pool = await stage.grownPool();
  pool.isDrainBlocked = true;
  pool.change({ image: "image-2" });
  const handle = await stage.rollOut(pool, { deadlines: { ...testDeadlines, drain: 100 } });
  await eventually(
    "a report of the remaining pods",
    () => pool.reports.some(({ blockedReason }) => blockedReason === "PodsRemaining"),
  );
  equal(pool.machines.filter(({ ready }) => ready).length, 4);
  pool.unblock();
  equal((await handle.result()).replaced, 3);
  assertOrderly(pool);
});

test("rollOutMachineDeployment: waits until the API responds again", async (stage) => {
  const pool = await stage.grownPool();
  pool.change({ image: "image-2" });
  for (
    const name of ["readDesired", "publishConfig", "ensureVictimMarked", "awaitMachinesJoined", "awaitNodeDrained"]
  ) {
    pool.before[name] = (times) => {
      if (times < 3) throw failure("ApiUnavailable", "Failed to reach the API: connection refused");
    };
  }
  const result = await (await stage.rollOut(pool)).result();
  deepEqual([result.outcome, pool.machines.map(({ set }) => set.image)], ["Converged", Array(3).fill("image-2")]);
  assertOrderly(pool);
  deepEqual(pool.events.filter(({ type }) => type === "Warning"), []);
});

test("rollOutMachineDeployment: keeps only one drain when the API fails during it", async (stage) => {
  const pool = await stage.grownPool({ replicas: 1 });
  pool.isDrainBlocked = true;
  pool.change({ image: "image-2" });
  const handle = await stage.rollOut(pool);
  await eventually("a drain under way", () => pool.count("awaitNodeDrained") >= 1);
  pool.before["readDesired"] = () => {
    throw failure("ApiUnavailable", "Failed to reach the API: connection refused");
  };
  const looks = pool.count("readDesired");
  await stage.tell(pool);
  await eventually("a failed read", () => pool.count("readDesired") > looks);
  delete pool.before["readDesired"];
  pool.unblock();
  equal((await handle.result()).replaced, 1);
  const { pendingActivities = [] } = (await handle.describe()).raw;
  // The drain may be awaited twice, because the second wait gets the blockers that the first one reported.
  ok(pool.count("awaitNodeDrained") <= 2, `drains: ${pool.count("awaitNodeDrained")}`);
  deepEqual(pendingActivities, []);
});

test("rollOutMachineDeployment: halts when machine-controller does not remove the marked machine", async (stage) => {
  const pool = await stage.grownPool();
  pool.before["awaitMachinesJoined"] = () => void (pool.isControllerDown = true);
  pool.change({ image: "image-2" });
  const handle = await stage.rollOut(pool, { deadlines: { ...testDeadlines, settle: 300 } });
  await stage.stands(handle, "Halted", "SettleExpired");
  delete pool.before["awaitMachinesJoined"];
  pool.unblock();
  equal((await handle.result()).outcome, "Converged");
  assertOrderly(pool);
});

test("rollOutMachineDeployment: does not count a time without reads of the API towards the deadline of a machine", async (stage) => {
  const pool = await stage.grownPool();
  pool.rules.join.attempts = 0;
  pool.fate = () => "address";
  pool.unseen.push(3_600_000);
  pool.change({ image: "image-2" });
  const handle = await stage.rollOut(pool, { deadlines: shortLadder });
  await eventually("the time without reads to be reported", () => pool.unseen.length === 0);
  await pause(2_000);
  deepEqual([pool.count("deleteMachine"), (await stage.progress(handle)).failedMachines], [0, 0]);
  pool.mend();
  equal((await handle.result()).outcome, "Converged");
});
