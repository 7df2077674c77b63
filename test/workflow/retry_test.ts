/** Retry: failures get a fresh start, and nothing unproven counts as proven. */
import { deepEqual, equal, ok } from "node:assert/strict";
import { eventually } from "../support/eventually.ts";
import { gateKeysOf } from "../support/gate_keys.ts";
import { assertOrderly, assertRuns, gateOf } from "../support/pool_checks.ts";
import { onStage, testDeadlines } from "../support/workflow_stage.ts";

const test = onStage();

const short = { ...testDeadlines, instance: 1000, address: 1000, registered: 1000, ready: 1000, recheck: "1h" };
const waves = [{ upTo: 2, soak: 0 }, { upTo: "100%", soak: 0 }];

test("retry: evaluates the failed gates of a wave once more, with a new key", async (stage) => {
  const pool = await stage.grownPool({ rules: { gates: [gateOf("EachWave")] } });
  pool.verdict = () => "Failed";
  pool.change({ image: "image-2" });
  const handle = await stage.rollOut(pool, { deadlines: short });
  await stage.stands(handle, "Halted", "Quarantined");
  pool.verdict = () => "Passed";
  await stage.ask(pool, "retry");
  equal((await handle.result()).outcome, "Converged");
  const keys = await gateKeysOf(handle);
  deepEqual([keys.length, new Set(keys).size], [2, 2]);
});

test("retry: evaluates the gate of a Ready machine again that failed finally", async (stage) => {
  const pool = await stage.grownPool({ rules: { gates: [gateOf("EachMachine")] } });
  pool.rules.join.attempts = 0;
  pool.verdict = () => "Failed";
  pool.change({ image: "image-2" });
  const handle = await stage.rollOut(pool, { deadlines: short });
  await stage.stands(handle, "Halted", "Quarantined");
  const before = pool.count("awaitGates");
  await stage.ask(pool, "retry");
  await eventually("the gate asked again", () => pool.count("awaitGates") > before);
  await stage.stands(handle, "Halted", "Quarantined");
  equal(pool.count("ensureVictimReleased"), 0);
  await handle.cancel();
});

test("retry: during a rollback tries a good machine again that failed finally", async (stage) => {
  const pool = await stage.grownPool({ rules: { waves, gates: [gateOf("EachWave")], onFailure: "Rollback" } });
  pool.rules.join.attempts = 1;
  pool.verdict = () => "Failed";
  pool.fate = (nth, image) => image === "image-1" && nth < 9 ? "registered" : "joins";
  pool.change({ image: "image-2" });
  const handle = await stage.rollOut(pool, { deadlines: { ...short, settle: 1000 } });
  await stage.stands(handle, "Halted", "SettleExpired");
  pool.mend();
  await stage.ask(pool, "retry");
  equal((await handle.result()).outcome, "RolledBack");
  assertRuns(pool, "image-1");
  assertOrderly(pool);
  deepEqual(pool.rollout.quarantine.map(({ image }) => image), ["image-2"]);
});

test("retry: publishes anew what machines boot with", async (stage) => {
  const pool = await stage.grownPool({ rules: { gates: [gateOf("EachWave")] } });
  pool.verdict = () => "Failed";
  pool.change({ image: "image-2" });
  const handle = await stage.rollOut(pool, { deadlines: short });
  await stage.stands(handle, "Halted", "Quarantined");
  equal(pool.count("publishConfig"), 1);
  pool.verdict = () => "Passed";
  await stage.ask(pool, "retry");
  equal((await handle.result()).outcome, "Converged");
  // One more publication is possible if a task ends between the command and the next read.
  ok(pool.count("publishConfig") >= 2);
});

test("retry: a machine that failed finally and was removed by hand blocks nothing", async (stage) => {
  const pool = await stage.grownPool();
  pool.rules.join.attempts = 1;
  pool.fate = () => "registered";
  pool.change({ replicas: 4 });
  const handle = await stage.rollOut(pool, { deadlines: short });
  await stage.stands(handle, "Halted", "JoinAttemptsExhausted");
  pool.fate = () => "joins";
  pool.machines = pool.machines.filter(({ ready }) => ready);
  pool.touch();
  await stage.tell(pool);
  equal((await handle.result()).outcome, "Converged");
});

test('promote: with "full" still evaluates the gates of the last wave', async (stage) => {
  const pool = await stage.grownPool({ rules: { waves, gates: [gateOf("EachWave", 200)] } });
  let verdict: "Inconclusive" | "Failed" = "Inconclusive";
  pool.verdict = () => verdict;
  pool.change({ image: "image-2" });
  const handle = await stage.rollOut(pool, { deadlines: short });
  await stage.stands(handle, "Halted", "GateInconclusive");
  verdict = "Failed";
  await stage.ask(pool, "promote", { by: "somebody", full: true });
  await stage.stands(handle, "Halted", "Quarantined");
  await handle.cancel();
});
