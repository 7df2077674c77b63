/**
 * The command `retry`: Ostler retries failed machines and gates from the start; a retry alone makes nothing count as
 * passed.
 */
import { deepEqual, equal, match, ok } from "node:assert/strict";
import { eventually } from "../support/eventually.ts";
import { gateKeysOf } from "../support/gate_keys.ts";
import { protectedPod } from "../support/fake_pool.ts";
import { assertOrderly, assertRuns, gateOf } from "../support/pool_checks.ts";
import { onStage, testDeadlines } from "../support/workflow_stage.ts";

const test = onStage();

const short = { ...testDeadlines, instance: 1000, address: 1000, registered: 1000, ready: 1000, recheck: "1h" };
const waves = [{ upTo: 2, soak: 0 }, { upTo: "100%", soak: 0 }];

test("retry: evaluates the failed gates of a wave again under a new key, so that the Job of a gate runs again", async (stage) => {
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

test("retry: evaluates the gate of a Ready machine again after the machine has no attempt left", async (stage) => {
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

test("retry: during a rollback, tries a machine of the last good revision again that had no attempt left", async (stage) => {
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

test("retry: during a rollback, drains a machine again that was set aside", async (stage) => {
  const pool = await stage.grownPool({ rules: { waves, gates: [gateOf("EachWave")], onFailure: "Rollback" } });
  Object.assign(pool.rules.drain, { timeout: 300, onBlocked: "SetAside" });
  pool.verdict = () => pool.template.image === "image-2" ? "Failed" : "Passed";
  pool.before["ensureLastGoodRestored"] = () => {
    for (const { name, set } of pool.machines) if (set.image === "image-2") pool.blockers[name] = [protectedPod];
  };
  pool.change({ image: "image-2" });
  const handle = await stage.rollOut(pool, { deadlines: short });
  await stage.stands(handle, "Halted", "SetAside");
  pool.unblock();
  await stage.ask(pool, "retry");
  equal((await handle.result()).outcome, "RolledBack");
  assertRuns(pool, "image-1");
  deepEqual(pool.rollout.quarantine.map(({ image }) => image), ["image-2"]);
});

test("retry: is refused while the abandoned change is still desired in a rollback, and that change stays in quarantine", async (stage) => {
  const pool = await stage.grownPool({ rules: { onFailure: "Rollback" } });
  pool.rules.join.attempts = 1;
  pool.fate = (_, image) => image === "image-2" ? "registered" : "joins";
  const answers: string[] = [];
  pool.before["ensureLastGoodRestored"] = async () => {
    const asked = stage.ask(pool, "retry").then(({ message }) => message);
    answers.push(await asked.catch((error: Error) => String((error.cause as Error).message)));
  };
  pool.change({ image: "image-2" });
  const handle = await stage.rollOut(pool, { deadlines: short });
  equal((await handle.result()).outcome, "RolledBack");
  match(answers[0] ?? "", /Cannot retry: the pool is rolling back/);
  deepEqual(pool.rollout.quarantine.map(({ image }) => image), ["image-2"]);
});

test("retry: publishes the config of the pool again", async (stage) => {
  const pool = await stage.grownPool({ rules: { gates: [gateOf("EachWave")] } });
  pool.verdict = () => "Failed";
  pool.change({ image: "image-2" });
  const handle = await stage.rollOut(pool, { deadlines: short });
  await stage.stands(handle, "Halted", "Quarantined");
  equal(pool.count("publishConfig"), 1);
  pool.verdict = () => "Passed";
  await stage.ask(pool, "retry");
  equal((await handle.result()).outcome, "Converged");
  // `retry` causes one publication, and possibly a second one if a task of the run ends between `retry` and the run's
  // next read of the pool.
  ok(pool.count("publishConfig") >= 2);
});

test("retry: a machine that had no attempt left and was removed by hand no longer blocks the rollout", async (stage) => {
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
