/** The fields `waves` and `growth`: how many machines are replaced between two soaks, and how long the soaks are. */
import { deepEqual, equal, ok } from "node:assert/strict";
import { eventually } from "../support/eventually.ts";
import { assertOrderly, assertRuns } from "../support/pool_checks.ts";
import { onStage } from "../support/workflow_stage.ts";

const test = onStage();

const hour = 3_600_000;

test("waves: a canary soaks before any other machine is replaced, until a person promotes it", async (stage) => {
  const rules = { waves: [{ upTo: 1, soak: hour }, { upTo: "100%", soak: 0 }] };
  const pool = await stage.grownPool({ rules });
  pool.change({ image: "image-2" });
  const handle = await stage.rollOut(pool);
  const { waves, wave } = await stage.stands(handle, "Rolling", "Soaking");
  deepEqual([waves.map(({ upTo, state }) => `${upTo} ${state}`), wave], [["1 Soaking", "3 Waiting"], 1]);
  ok(Date.parse(waves[0]?.soakUntil ?? "") > Date.now());
  const ready = pool.machines.filter((machine) => machine.ready).map(({ set }) => set.image);
  deepEqual([pool.count("ensureMachineAdmitted"), ready], [1, ["image-1", "image-1", "image-2"]]);
  await eventually("a report of the wave", () => pool.reports.at(-1)?.wave === "1/2");
  await stage.ask(pool, "promote");
  equal((await handle.result()).replaced, 3);
  assertOrderly(pool);
  assertRuns(pool, "image-2");
});

test("waves: a soak ends by itself, and no machine is admitted before its end", async (stage) => {
  const rules = { waves: [{ upTo: 1, soak: 700 }, { upTo: "100%", soak: 0 }] };
  const pool = await stage.grownPool({ replicas: 2, rules });
  const early: string[] = [];
  pool.before["ensureMachineAdmitted"] = () => {
    const soaks = pool.reports.flatMap(({ waves }) => waves ?? []).flatMap(({ soakUntil }) => soakUntil ?? []);
    if (soaks.some((until) => Date.parse(until) > Date.now())) early.push("admitted while it soaked");
  };
  pool.change({ image: "image-2" });
  equal((await (await stage.rollOut(pool)).result()).replaced, 2);
  deepEqual(early, []);
  ok(pool.events.some(({ reason }) => reason === "SoakStarted"));
  assertOrderly(pool);
});

test('promote: with "full" ends the soaks of all waves', async (stage) => {
  const rules = { waves: [{ upTo: 1, soak: hour }, { upTo: 2, soak: hour }, { upTo: "100%", soak: 0 }] };
  const pool = await stage.grownPool({ rules });
  pool.change({ image: "image-2" });
  const handle = await stage.rollOut(pool);
  await stage.stands(handle, "Rolling", "Soaking");
  await stage.ask(pool, "promote", { by: "somebody", full: true });
  equal((await handle.result()).replaced, 3);
  assertRuns(pool, "image-2");
});

test('promote: without "full" ends only the soak of the current wave', async (stage) => {
  const rules = { waves: [{ upTo: 1, soak: hour }, { upTo: 2, soak: hour }, { upTo: "100%", soak: 0 }] };
  const pool = await stage.grownPool({ rules });
  pool.change({ image: "image-2" });
  const handle = await stage.rollOut(pool);
  await stage.stands(handle, "Rolling", "Soaking");
  await stage.ask(pool, "promote");
  const { waves } = await stage.sees(pool, "the second soak", ({ wave, reason }) => wave === 2 && reason === "Soaking");
  deepEqual(waves.map(({ state }) => state), ["Done", "Soaking", "Waiting"]);
  equal(pool.count("ensureMachineAdmitted"), 2);
  await handle.cancel();
});

test("waves: a percentage of the pool defines a wave of at least one machine", async (stage) => {
  const rules = { waves: [{ upTo: "1%", soak: hour }, { upTo: "50%", soak: hour }, { upTo: "100%", soak: 0 }] };
  const pool = await stage.grownPool({ replicas: 4, rules });
  pool.change({ image: "image-2" });
  const handle = await stage.rollOut(pool);
  const { waves } = await stage.stands(handle, "Rolling", "Soaking");
  deepEqual(waves.map(({ upTo }) => upTo), [1, 2, 4]);
  equal(pool.count("ensureMachineAdmitted"), 1);
  await handle.cancel();
});

test("waves: when the policy gets fewer waves, the rollout continues in the first wave that is not complete yet", async (stage) => {
  const rules = { waves: [{ upTo: 1, soak: 0 }, { upTo: 2, soak: hour }, { upTo: 3, soak: 0 }] };
  const pool = await stage.grownPool({ replicas: 5, rules });
  pool.change({ image: "image-2" });
  const handle = await stage.rollOut(pool);
  await stage.sees(pool, "the second soak", ({ wave, reason }) => wave === 2 && reason === "Soaking");
  pool.rules.waves = [{ upTo: 3, soak: hour }];
  await stage.tell(pool);
  const { waves } = await stage.sees(pool, "the first soak", ({ wave, reason }) => wave === 1 && reason === "Soaking");
  deepEqual(waves.map(({ upTo, state }) => `${upTo} ${state}`), ["3 Soaking", "5 Waiting"]);
  equal(pool.count("ensureMachineAdmitted"), 3);
  await handle.cancel();
});

test("growth: makes each wave larger than the previous one", async (stage) => {
  const pool = await stage.grownPool({ replicas: 7, rules: { growth: { from: 1, factor: 2, soak: hour } } });
  pool.change({ image: "image-2" });
  const handle = await stage.rollOut(pool);
  const { waves } = await stage.stands(handle, "Rolling", "Soaking");
  deepEqual(waves.map(({ upTo }) => upTo), [1, 3, 7]);
  await stage.ask(pool, "promote");
  await stage.sees(pool, "the second soak", ({ wave, reason }) => wave === 2 && reason === "Soaking");
  equal(pool.count("ensureMachineAdmitted"), 3);
  await handle.cancel();
});
