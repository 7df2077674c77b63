/** The field `gates`: what they judge per machine and per wave, and what follows from each verdict. */
import { deepEqual, equal, match, ok } from "node:assert/strict";
import { setTimeout as pause } from "node:timers/promises";
import type { Condition } from "../../workflows/contracts/mod.ts";
import { eventually } from "../support/eventually.ts";
import { assertOrderly, assertRuns, gateOf } from "../support/pool_checks.ts";
import { onStage, testDeadlines } from "../support/workflow_stage.ts";

const test = onStage();

const patient = { deadlines: { ...testDeadlines, recheck: "1h" } };
const hour = 3_600_000;

test("a gate of EachMachine is asked about every newcomer before a machine goes for it", async (stage) => {
  const pool = await stage.grownPool({ rules: { gates: [gateOf("EachMachine")] } });
  pool.change({ image: "image-2" });
  equal((await (await stage.rollOut(pool)).result()).replaced, 3);
  deepEqual(pool.subjects("awaitGates"), [4, 5, 6].map((nth) => pool.nth(nth)));
  const turns = pool.calls.filter((call) => /^(awaitGates|awaitNodeDrained) /.test(call)).map((call) =>
    call.slice(0, 9)
  );
  deepEqual(turns, Array(3).fill(["awaitGate", "awaitNode"]).flat());
  assertOrderly(pool);
});

test("a machine that fails a gate is recreated, and the rollout goes on", async (stage) => {
  const pool = await stage.grownPool({ rules: { gates: [gateOf("EachMachine")] } });
  pool.verdict = (_, machine) => machine === pool.nth(4) ? "Failed" : "Passed";
  pool.change({ image: "image-2" });
  equal((await (await stage.rollOut(pool)).result()).replaced, 3);
  deepEqual(pool.subjects("deleteMachine"), [pool.nth(4)]);
  ok(pool.events.some(({ type, message }) => type === "Warning" && /smoke/.test(message)));
  assertOrderly(pool);
  assertRuns(pool, "image-2");
});

test("a change whose machines fail a gate is quarantined after the attempts, and no old machine goes", async (stage) => {
  const pool = await stage.grownPool({ rules: { gates: [gateOf("EachMachine")] } });
  pool.rules.join.attempts = 1;
  pool.verdict = () => "Failed";
  pool.change({ image: "image-2" });
  const handle = await stage.rollOut(pool, patient);
  const { message, quarantine } = await stage.stands(handle, "Halted", "Quarantined");
  match(message, /smoke/);
  deepEqual(quarantine.map(({ image, by }) => [image, by]), [["image-2", "policy"]]);
  await eventually("a report of it", () => pool.rollout.quarantine.length === 1);
  deepEqual(pool.rollout.quarantine, quarantine);
  equal(pool.count("deleteMachine"), 1);
  deepEqual(pool.machines.filter(({ ready, set }) => ready && set.image === "image-1").length, 3);
  deepEqual(pool.violations, []);
  await handle.cancel();
});

test("a gate of EachWave is asked when the wave is done, and lets the next one begin", async (stage) => {
  const waves = [{ upTo: 1, soak: 0 }, { upTo: "100%", soak: 0 }];
  const pool = await stage.grownPool({ rules: { waves, gates: [gateOf("EachWave")] } });
  const replaced: number[] = [];
  pool.before["awaitGates"] = () => void replaced.push(pool.images().filter((image) => image === "image-2").length);
  pool.change({ image: "image-2" });
  equal((await (await stage.rollOut(pool)).result()).replaced, 3);
  equal(pool.count("awaitGates"), 2);
  ok((replaced[0] ?? 3) < 3, "asked after the first wave");
  assertOrderly(pool);
});

test("a failed gate of EachWave halts the rollout where it is", async (stage) => {
  const waves = [{ upTo: 1, soak: 0 }, { upTo: "100%", soak: 0 }];
  const pool = await stage.grownPool({ rules: { waves, gates: [gateOf("EachWave")] } });
  pool.verdict = () => "Failed";
  pool.change({ image: "image-2" });
  const handle = await stage.rollOut(pool, patient);
  const { message } = await stage.stands(handle, "Halted", "Quarantined");
  match(message, /smoke/);
  deepEqual([pool.count("ensureMachineAdmitted"), pool.machines.filter(({ ready }) => ready).length], [1, 3]);
  const isQuarantined = ({ type, status }: Condition): boolean => type === "Quarantined" && status === "True";
  await eventually("the condition", () => pool.reports.at(-1)?.conditions.some(isQuarantined));
  await handle.cancel();
});

test("a failed gate of EachWave goes back where the policy says so", async (stage) => {
  const waves = [{ upTo: 1, soak: 0 }, { upTo: "100%", soak: 0 }];
  const pool = await stage.grownPool({ rules: { waves, gates: [gateOf("EachWave")], onFailure: "Rollback" } });
  pool.verdict = () => "Failed";
  pool.change({ image: "image-2" });
  equal((await (await stage.rollOut(pool)).result()).outcome, "RolledBack");
  assertRuns(pool, "image-1");
  assertOrderly(pool);
});

test("who calls in the moment in which a way back ends has no gate asked about what is good", async (stage) => {
  const waves = [{ upTo: 1, soak: 0 }, { upTo: "100%", soak: 0 }];
  const pool = await stage.grownPool({ rules: { waves, gates: [gateOf("EachWave")], onFailure: "Rollback" } });
  pool.verdict = () => "Failed";
  pool.after["ensureRolloutReported"] = async () => {
    if (pool.reports.at(-1)?.phase !== "RolledBack") return;
    delete pool.after["ensureRolloutReported"];
    await stage.tell(pool);
  };
  pool.change({ image: "image-2" });
  equal((await (await stage.rollOut(pool)).result()).outcome, "RolledBack");
  equal(pool.count("awaitGates"), 1);
});

test("a failed gate of EachWave halts also where the last good revision is applied again by hand", async (stage) => {
  const pool = await stage.grownPool({ rules: { gates: [gateOf("EachWave")] } });
  pool.verdict = () => "Failed";
  pool.change({ image: "image-2" });
  const handle = await stage.rollOut(pool, patient);
  await stage.stands(handle, "Halted", "Quarantined");
  pool.calls.length = 0;
  pool.change({ image: "image-1" });
  await stage.tell(pool);
  const { message } = await stage.stands(handle, "Halted", "GateFailed");
  match(message, /smoke/);
  equal(pool.count("awaitGates"), 1);
  pool.verdict = () => "Passed";
  await stage.ask(pool, "retry");
  equal((await handle.result()).outcome, "Converged");
  // Once more where that word came in the middle of the look that follows a gate's end.
  ok([2, 3].includes(pool.count("awaitGates")), String(pool.count("awaitGates")));
});

test("a gate that cannot be judged in time waits for a person, who takes it as passed", async (stage) => {
  const pool = await stage.grownPool({ rules: { gates: [gateOf("EachMachine", 100)] } });
  pool.verdict = () => "Inconclusive";
  pool.change({ image: "image-2" });
  const handle = await stage.rollOut(pool, patient);
  const { message } = await stage.stands(handle, "Halted", "GateInconclusive");
  match(message, /smoke/);
  deepEqual([pool.count("deleteMachine"), pool.count("awaitNodeDrained"), pool.count("ensureMachineAdmitted")], [
    0,
    0,
    1,
  ]);
  pool.verdict = () => "Passed";
  await stage.ask(pool, "promote");
  equal((await handle.result()).replaced, 3);
  assertOrderly(pool);
});

test("retry asks a gate again that could not be judged", async (stage) => {
  const pool = await stage.grownPool({ replicas: 1, rules: { gates: [gateOf("EachWave", 100)] } });
  pool.verdict = () => "Inconclusive";
  pool.change({ image: "image-2" });
  const handle = await stage.rollOut(pool, patient);
  await stage.stands(handle, "Halted", "GateInconclusive");
  const asked = pool.count("awaitGates");
  pool.verdict = () => "Passed";
  await stage.ask(pool, "retry");
  equal((await handle.result()).outcome, "Converged");
  equal(pool.count("awaitGates"), asked + 1);
});

test("join.gates bounds how long one machine may take to pass", async (stage) => {
  const pool = await stage.grownPool({ rules: { gates: [gateOf("EachMachine", hour)] } });
  pool.rules.join.gates = 100;
  pool.verdict = () => "Inconclusive";
  pool.change({ image: "image-2" });
  const handle = await stage.rollOut(pool, patient);
  await stage.stands(handle, "Halted", "GateInconclusive");
  await handle.cancel();
});

test("gates that were known are asked while policies contradict each other, and no wave ends", async (stage) => {
  const rules = { gates: [gateOf("EachMachine"), gateOf("EachWave")] };
  const pool = await stage.grownPool({ replicas: 1, rules });
  pool.fate = () => "registered";
  pool.change({ image: "image-2" });
  const handle = await stage.rollOut(pool);
  await eventually("a join under way", () => pool.count("awaitMachinesJoined") === 1);
  Object.assign(pool.rules, {
    source: "defaults",
    gates: [],
    conflict: 'Policies "a" and "b" select the pool equally well',
  });
  await stage.tell(pool);
  await stage.sees(pool, "the conflict", ({ reason }) => reason === "PolicyConflict");
  pool.mend();
  await eventually("the old machine gone", () => pool.numbers().join() === "2");
  await pause(500);
  deepEqual(pool.subjects("awaitGates"), [pool.nth(2)]);
  Object.assign(pool.rules, { ...rules, source: "defaults", conflict: null });
  await stage.tell(pool);
  equal((await handle.result()).replaced, 1);
  equal(pool.count("awaitGates"), 2);
  assertOrderly(pool);
});
