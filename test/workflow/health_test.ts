import { deepEqual, equal, rejects } from "node:assert/strict";
import { eventually } from "../support/eventually.ts";
import type { FakePool } from "../support/fake_pool.ts";
import { onStage, testDeadlines } from "../support/workflow_stage.ts";

const test = onStage();

function setNode(pool: FakePool, created: number, isNodeDown: boolean): void {
  for (const machine of pool.machines) if (machine.created === created) machine.isNodeDown = isNodeDown;
  pool.touch();
}

test("rollOutMachineDeployment: keeps the machine to be replaced while the node of another machine is not Ready", async (stage) => {
  const pool = await stage.grownPool();
  pool.before["ensureMachineAdmitted"] = () => setNode(pool, 2, true);
  pool.change({ image: "image-2" });
  const handle = await stage.rollOut(pool);
  await stage.stands(handle, "Rolling", "Settling");
  equal(pool.count("awaitNodeDrained"), 0);
  delete pool.before["ensureMachineAdmitted"];
  setNode(pool, 2, false);
  equal((await handle.result()).replaced, 3);
  deepEqual([pool.violations, pool.drainedByController], [[], []]);
});

test("rollOutMachineDeployment: does not treat a pool as converged while one of its nodes is not Ready", async (stage) => {
  const pool = await stage.grownPool();
  setNode(pool, 3, true);
  const handle = await stage.rollOut(pool);
  await stage.sees(pool, "nothing to do", ({ reason }) => reason === "Settling");
  setNode(pool, 3, false);
  equal((await handle.result()).outcome, "Converged");
});

test("cancel: removes the hold of an old machine that is already being deleted", async (stage) => {
  const pool = await stage.grownPool();
  pool.fate = (nth) => nth === 4 ? "gates" : "registered";
  pool.change({ image: "image-2" });
  const deadlines = { ...testDeadlines, instance: 1200, address: 1200, registered: 1200, ready: 1200 };
  const handle = await stage.rollOut(pool, { deadlines });
  await eventually("a second new machine", () => pool.count("awaitMachinesJoined") === 2);
  equal(pool.machines.some(({ leaving, hold }) => leaving && hold), true);
  await handle.cancel();
  await rejects(handle.result());
  deepEqual(pool.machines.filter(({ booted, hold, mark }) => booted && (hold || mark)), []);
});

test("rollOutMachineDeployment: renews credentials after an abort, and touches no machine", async (stage) => {
  const pool = await stage.grownPool();
  pool.fate = () => "registered";
  pool.change({ image: "image-2" });
  const handle = await stage.rollOut(pool);
  await eventually("a join under way", () => pool.count("awaitMachinesJoined") === 1);
  await handle.cancel();
  await rejects(handle.result());
  pool.calls.length = 0;
  const result = await (await stage.rollOut(pool, { publishOnly: true })).result();
  deepEqual([result.outcome, pool.writes(), pool.reports.at(-1)?.phase], ["Published", [], "Aborted"]);
  equal(typeof pool.reports.at(-1)?.credentials?.renewAt, "string");
});

test("rollOutMachineDeployment: reports SettleExpired only once, however often it reads the pool", async (stage) => {
  const pool = await stage.grownPool();
  pool.rules.repair.enabled = false;
  pool.sicken(2);
  const handle = await stage.rollOut(pool, { deadlines: { ...testDeadlines, settle: 300, recheck: 100 } });
  await stage.stands(handle, "Halted", "SettleExpired");
  const [looks, reports] = [pool.count("readPool"), pool.reports.length];
  await eventually("looks", () => pool.count("readPool") > looks + 4);
  equal(pool.events.filter(({ reason }) => reason === "SettleExpired").length, 1);
  deepEqual(new Set(pool.reports.slice(reports).map(({ phase }) => phase)), new Set(["Halted"]));
  await handle.cancel();
});
