/** Inconclusive gates: which events other than a command resolve them, and which events do not. */
import { deepEqual, equal, ok } from "node:assert/strict";
import { eventually } from "../support/eventually.ts";
import type { FakePool } from "../support/fake_pool.ts";
import { gateKeysOf } from "../support/gate_keys.ts";
import { assertOrderly, assertRuns, gateOf } from "../support/pool_checks.ts";
import { onStage, testDeadlines } from "../support/workflow_stage.ts";
import type { Handle, Stage } from "../support/workflow_stage.ts";

const test = onStage();

const minute = 60_000;
const waves = [{ upTo: 1, soak: 60 * minute }, { upTo: "100%", soak: 0 }];

/** Starts a rollout, and returns when an inconclusive gate has halted it. */
async function rolloutInDoubt(
  stage: Stage,
  run: "EachMachine" | "EachWave",
  recheck: string,
): Promise<{ pool: FakePool; handle: Handle }> {
  const pool = await stage.grownPool({ rules: { gates: [gateOf(run, run === "EachMachine" ? minute : 100)] } });
  if (run === "EachWave") pool.rules.waves = waves;
  pool.rules.join.gates = 100;
  pool.verdict = () => "Inconclusive";
  pool.change({ image: "image-2" });
  const handle = await stage.rollOut(pool, { deadlines: { ...testDeadlines, recheck } });
  await stage.stands(handle, "Halted", "GateInconclusive");
  return { pool, handle };
}

test("gates: an inconclusive EachMachine gate no longer halts the rollout when the policy removes the gate", async (stage) => {
  const { pool, handle } = await rolloutInDoubt(stage, "EachMachine", "1h");
  pool.rules.gates = [];
  await stage.tell(pool);
  equal((await handle.result()).outcome, "Converged");
  equal(pool.count("awaitGates"), 1);
  assertRuns(pool, "image-2");
  assertOrderly(pool);
});

test("gates: an inconclusive EachWave gate no longer halts the rollout when the policy removes the gate", async (stage) => {
  const { pool, handle } = await rolloutInDoubt(stage, "EachWave", "1h");
  pool.rules.gates = [];
  await stage.tell(pool);
  await stage.stands(handle, "Rolling", "Soaking");
  await stage.ask(pool, "promote");
  equal((await handle.result()).outcome, "Converged");
});

test("gates: an inconclusive gate is evaluated again when the policy changes the gate, and can then fail", async (stage) => {
  const { pool, handle } = await rolloutInDoubt(stage, "EachMachine", "1h");
  pool.verdict = (_, machine) => machine === pool.nth(4) ? "Failed" : "Passed";
  pool.rules.gates = [gateOf("EachMachine", 2 * minute)];
  await stage.tell(pool);
  equal((await handle.result()).outcome, "Converged");
  deepEqual(pool.subjects("deleteMachine"), [pool.nth(4)]);
  assertRuns(pool, "image-2");
});

test("gates: an inconclusive gate is evaluated again by itself with the same key, and reported once", async (stage) => {
  const { pool, handle } = await rolloutInDoubt(stage, "EachMachine", "300ms");
  await eventually("three more evaluations", () => pool.count("awaitGates") >= 4);
  pool.verdict = () => "Passed";
  equal((await handle.result()).outcome, "Converged");
  const keys = await gateKeysOf(handle);
  const asked = keys.filter((key) => key === keys[0]).length;
  deepEqual([keys.length - asked, new Set(keys).size], [2, 3]);
  equal(pool.events.filter(({ reason }) => reason === "GateInconclusive").length, 1);
  assertOrderly(pool);
});

test("gates: the rollout stays halted while an inconclusive gate is evaluated again", async (stage) => {
  const { pool, handle } = await rolloutInDoubt(stage, "EachMachine", "300ms");
  await eventually("a report of it", () => pool.reports.at(-1)?.phase === "Halted");
  const halted = pool.reports.length;
  const asked = pool.count("awaitGates");
  await eventually("it asked again", () => pool.count("awaitGates") >= asked + 3);
  deepEqual([...new Set(pool.reports.slice(halted - 1).map(({ phase, reason }) => `${phase} ${reason}`))], [
    "Halted GateInconclusive",
  ]);
  await handle.cancel();
});

test("promote: does not wait for a running evaluation of an inconclusive gate", async (stage) => {
  const { pool, handle } = await rolloutInDoubt(stage, "EachMachine", "300ms");
  pool.rules.join.gates = minute;
  await stage.tell(pool);
  const isLong = ({ until }: { until: string }): boolean => Date.parse(until) > Date.now() + minute / 2;
  const [{ until } = { until: "" }] =
    (await stage.sees(pool, "a long asking", (now) => now.underway.some(isLong))).underway;
  await stage.ask(pool, "promote");
  pool.verdict = () => "Passed";
  equal((await handle.result()).outcome, "Converged");
  ok(Date.now() < Date.parse(until), "Expected no wait for the answer");
});

test("gates: a machine that is removed by hand with an inconclusive gate blocks nothing", async (stage) => {
  const { pool, handle } = await rolloutInDoubt(stage, "EachMachine", "300ms");
  pool.verdict = () => "Passed";
  pool.machines = pool.machines.filter(({ created }) => created !== 4);
  pool.touch();
  const { outcome, joins } = await handle.result();
  const joined = joins.map(({ machine }) => machine).sort();
  deepEqual([outcome, joined], ["Converged", [5, 6, 7].map((nth) => pool.nth(nth))]);
  assertRuns(pool, "image-2");
  assertOrderly(pool);
});
