/** A rollout whose history becomes too long continues as a new run, with all machines that are in progress. */
import { WorkflowUpdateStage } from "@temporalio/client";
import { ApplicationFailure } from "@temporalio/common";
import { deepEqual, equal, notEqual, ok } from "node:assert/strict";
import { setTimeout as pause } from "node:timers/promises";
import { eventually } from "../support/eventually.ts";
import type { CarriedState, Progress } from "../../workflows/contracts/mod.ts";
import { failure } from "../support/fake_failure.ts";
import type { FakePool } from "../support/fake_pool.ts";
import { recall } from "../support/fake_rollout.ts";
import { assertOrderly, assertRuns, budgetOf, gateOf } from "../support/pool_checks.ts";
import { onStage, testDeadlines } from "../support/workflow_stage.ts";
import type { Handle, Stage } from "../support/workflow_stage.ts";

const test = onStage({ dynamicConfig: ["limit.historyCount.suggestContinueAsNew=80"] });

const hour = 3_600_000;

async function runOf(stage: Stage, pool: FakePool): Promise<string> {
  return (await stage.client.workflow.getHandle(pool.holder).describe()).runId;
}

/** Sends signals until the chain has a new run, with pauses in which a slow worker can end the current run. */
async function anotherRun(stage: Stage, pool: FakePool): Promise<void> {
  const before = await runOf(stage, pool);
  await eventually("another run", async () => {
    await stage.tell(pool);
    await pause(200);
    return await runOf(stage, pool) !== before;
  });
}

test("next run: completes several machines in progress", async (stage) => {
  const pool = await stage.grownPool({ replicas: 6, surge: 3, rules: { budget: budgetOf(3) } });
  pool.fate = () => "registered";
  pool.change({ image: "image-2" });
  const handle = await stage.rollOut(pool);
  await stage.sees(pool, "three under way", ({ underway }) => underway.length === 3);
  await anotherRun(stage, pool);
  const { underway } = await stage.sees(pool, "three under way again", (seen) => seen.underway.length === 3);
  deepEqual(underway.map(({ machine }) => machine).sort(), [7, 8, 9].map((nth) => pool.nth(nth)));
  pool.mend();
  const result = await handle.result();
  deepEqual([result.replaced, result.joins.length], [6, 6]);
  deepEqual([pool.count("deleteMachine"), new Set(pool.subjects("ensureMachineAdmitted")).size], [0, 6]);
  assertOrderly(pool);
  assertRuns(pool, "image-2");
});

test("next run: keeps the start of running drains", async (stage) => {
  const pool = await stage.grownPool({ replicas: 4, surge: 2, rules: { budget: budgetOf(2) } });
  pool.isDrainBlocked = true;
  pool.change({ image: "image-2" });
  const handle = await stage.rollOut(pool);
  const draining = ({ underway }: { underway: { step: string; since: string }[] }): string[] =>
    underway.filter(({ step }) => step === "Draining").map(({ since }) => since).sort();
  const before = await stage.sees(pool, "two drains", (seen) => draining(seen).length === 2);
  await anotherRun(stage, pool);
  const after = await stage.sees(pool, "two drains again", (seen) => draining(seen).length === 2);
  deepEqual(draining(after), draining(before));
  pool.unblock();
  equal((await handle.result()).replaced, 4);
  assertOrderly(pool);
});

test("fault E2 next run: does not count the time in which the drain was denied towards the drain's timeout", async (stage) => {
  const drain = { timeout: 2_500, onBlocked: "Force", localStorage: "Delete", order: "ByPriority" } as const;
  const pool = await stage.grownPool({ replicas: 1, rules: { drain } });
  pool.isDrainBlocked = true;
  let [isDenied, cordoned] = [true, 0];
  pool.before["ensureNodeCordoned"] = () => {
    if (isDenied) throw failure("AccessDenied", "Cannot cordon the node: patch is forbidden");
    cordoned ||= Date.now();
  };
  pool.change({ image: "image-2" });
  const handle = await stage.rollOut(pool, { deadlines: { ...testDeadlines, recheck: hour } });
  await stage.stands(handle, "Halted", "AccessDenied");
  const run = await runOf(stage, pool);
  // A signal that the workflow does not handle makes the history longer, and does not start a reconcile.
  for (let sent = 0; sent < 80; sent++) await handle.signal("unknown");
  await pause(3_000);
  isDenied = false;
  await stage.tell(pool);
  await eventually("a drain by force", () => pool.forced.length === 1);
  ok(Date.now() - cordoned > 1_500, "Expected the time before the cordon not to count towards the timeout");
  notEqual(await runOf(stage, pool), run);
  equal((await handle.result()).replaced, 1);
});

test("next run: a machine stays skipped when the run continues as new between Ostler's change of the template and the next read of the template", async (stage) => {
  const windows = [{ from: Date.now() + hour, to: Date.now() + 2 * hour }];
  const pool = await stage.grownPool({ rules: { windows, onProfileChange: "Roll" } });
  pool.change({ image: "image-2" });
  const handle = await stage.rollOut(pool);
  await stage.stands(handle, "Rolling", "OutsideWindow");
  await stage.ask(pool, "skip", { by: "somebody", machine: pool.nth(2) });
  const run = await runOf(stage, pool);
  pool.before["ensureTemplateStamped"] = async () => {
    delete pool.before["ensureTemplateStamped"];
    for (let sent = 0; sent < 80; sent++) await handle.signal("unknown");
  };
  pool.profileVersion = 2;
  await stage.tell(pool);
  await eventually("another run", async () => await runOf(stage, pool) !== run);
  pool.rules.windows = null;
  await stage.tell(pool);
  const { skipped } = await stage.sees(pool, "the others done", ({ reason }) => reason === "OnlySkippedRemain");
  deepEqual([skipped, pool.find(pool.nth(2))?.set.image], [[pool.nth(2)], "image-1"]);
});

test("next run: keeps a soak, an approval and skipped machines", async (stage) => {
  const waves = [{ upTo: 1, soak: hour }, { upTo: "100%", soak: 0 }];
  const pool = await stage.grownPool({ rules: { waves, approval: "BeforeFirst" } });
  pool.change({ image: "image-2" });
  const handle = await stage.rollOut(pool);
  const { plan } = await stage.stands(handle, "Rolling", "AwaitingApproval");
  await stage.ask(pool, "approve", { by: "somebody", plan: plan?.hash ?? "" });
  await stage.sees(pool, "the soak", ({ reason }) => reason === "Soaking");
  await stage.ask(pool, "skip", { by: "somebody", machine: pool.nth(3) });
  // The restart makes the worker replay the history. If a query is answered while a local activity runs, the workflow
  // sees a time some milliseconds later than the time of the activity's marker, which only a replay uses.
  await stage.stopWorker();
  await stage.startWorker();
  const [{ waves: before, plan: approved }, run] = [await stage.progress(handle), await runOf(stage, pool)];
  await anotherRun(stage, pool);
  notEqual(await runOf(stage, pool), run);
  const after = await stage.sees(pool, "the same soak", ({ reason }) => reason === "Soaking");
  deepEqual([after.waves, after.skipped], [before, [pool.nth(3)]]);
  deepEqual(after.plan, approved, "Expected the next run to keep the approved plan");
  await stage.ask(pool, "promote");
  await stage.sees(pool, "the others done", ({ reason }) => reason === "OnlySkippedRemain");
  equal(pool.machines.filter(({ ready, set }) => ready && set.image === "image-2").length, 2);
  await stage.client.workflow.getHandle(pool.holder).cancel();
});

for (const activity of ["readDesired", "planRollout"]) {
  test(`next run: a plan that an earlier run read can be approved while the next run is at its first ${activity}`, async (stage) => {
    const pool = await stage.grownPool({ rules: { approval: "BeforeFirst" } });
    pool.change({ image: "image-2" });
    const handle = await stage.rollOut(pool);
    const { plan } = await stage.stands(handle, "Rolling", "AwaitingApproval");
    const run = await runOf(stage, pool);
    const [begun, answered] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    pool.before[activity] = async () => {
      if (await runOf(stage, pool) === run) return;
      begun.resolve();
      await answered.promise;
    };
    await anotherRun(stage, pool);
    await begun.promise;
    const seen = await stage.progress(stage.client.workflow.getHandle(pool.holder) as Handle);
    const told = stage.ask(pool, "approve", { by: "somebody", plan: plan?.hash ?? "" });
    const answer = told.then(({ message }) => message, String);
    // Until its first read ends, the run does not answer the command, so the test cannot wait for the answer.
    if (activity === "readDesired") await pause(300);
    else await answer;
    answered.resolve();
    deepEqual([seen.plan, await answer], [plan, `Plan ${plan?.hash} can begin with wave 1`]);
    equal((await handle.result()).replaced, 3);
    assertOrderly(pool);
  });
}

for (const run of ["EachMachine", "EachWave"] as const) {
  test(`next run: a gate of ${run} keeps its deadline`, async (stage) => {
    const pool = await stage.grownPool({ replicas: 1, rules: { gates: [gateOf(run, hour)] } });
    pool.verdict = () => "Inconclusive";
    pool.change({ image: "image-2" });
    const handle = await stage.rollOut(pool);
    const gates = ({ underway }: Progress): string[] =>
      underway.filter(({ step }) => step === "Gates").map(({ until }) => until);
    const isAsked = (seen: Progress): boolean => gates(seen).length === 1 && pool.count("awaitGates") > 0;
    const before = await stage.sees(pool, "a gate evaluation", isAsked);
    pool.calls.length = 0;
    await anotherRun(stage, pool);
    deepEqual(gates(await stage.sees(pool, "the gate asked again", isAsked)), gates(before));
    pool.verdict = () => "Passed";
    pool.touch();
    equal((await handle.result()).replaced, 1);
    assertOrderly(pool);
  });

  test(`next run: an inconclusive gate of ${run} can be promoted before the next run evaluates it`, async (stage) => {
    const pool = await stage.grownPool({ replicas: 1, rules: { gates: [gateOf(run, 100)] } });
    pool.verdict = () => "Inconclusive";
    pool.change({ image: "image-2" });
    const handle = await stage.rollOut(pool, { deadlines: { ...testDeadlines, recheck: hour } });
    await stage.sees(pool, "the doubt", ({ reason }) => reason === "GateInconclusive");
    const first = await runOf(stage, pool);
    let isAway = true;
    pool.before["readDesired"] = async () => {
      const isNext = await runOf(stage, pool) !== first;
      if (isNext && isAway) throw ApplicationFailure.retryable("the API server is away", "ApiUnavailable");
    };
    await anotherRun(stage, pool);
    pool.calls.length = 0;
    // The run accepts the command while its reads fail, and it waits to retry.
    const promotion = await stage.client.workflow.getHandle(pool.holder).startUpdate<{ message: string }, [object]>(
      "promote",
      { args: [{ by: "somebody" }], waitForStage: WorkflowUpdateStage.ACCEPTED },
    );
    await eventually("a wait", () => pool.count("readDesired") >= 3);
    isAway = false;
    equal(
      (await promotion.result()).message,
      "The soak of the current wave ends now, and inconclusive gates count as passed",
    );
    equal((await handle.result()).replaced, 1);
    equal(pool.count("awaitGates"), 0);
    assertOrderly(pool);
  });
}

test("next run: continues a rollback", async (stage) => {
  const waves = [{ upTo: 3, soak: 0 }, { upTo: "100%", soak: 0 }];
  const pool = await stage.grownPool({
    ...{ replicas: 4, rules: { waves, gates: [gateOf("EachWave")], onFailure: "Rollback" } },
  });
  pool.verdict = () => {
    pool.fate = () => "registered"; // the rollback must not end before the test has found the next run
    return "Failed";
  };
  pool.change({ image: "image-2" });
  const handle = await stage.rollOut(pool, { deadlines: { ...testDeadlines, ready: hour } });
  await stage.sees(pool, "the rollback", ({ phase }) => phase === "RollingBack");
  await anotherRun(stage, pool);
  pool.mend();
  equal((await handle.result()).outcome, "RolledBack");
  ok(pool.rollout.quarantine.length === 1);
  assertRuns(pool, "image-1");
  assertOrderly(pool);
});

test("next run: uncordons a machine that recovered between the runs", async (stage) => {
  const pool = await stage.grownPool({ replicas: 2 });
  pool.rules.repair.conditions = [{ type: "KernelDeadlock", status: "True", for: 1 }];
  pool.isDrainBlocked = true;
  pool.sicken(2, { condition: "KernelDeadlock" });
  const handle = await stage.rollOut(pool);
  await eventually("a drain", () => pool.count("awaitNodeDrained") >= 1);
  const [run, found] = [await runOf(stage, pool), Promise.withResolvers<void>()];
  // The machine recovers only after the test has found the next run, because a run that ends cannot be signalled.
  pool.before["readDesired"] = async () => {
    if (await runOf(stage, pool) === run) return;
    await found.promise;
    for (const machine of pool.machines) machine.ill = undefined;
  };
  await anotherRun(stage, pool);
  found.resolve();
  equal((await handle.result()).outcome, "Converged");
  deepEqual(pool.machines.map(({ created, cordoned }) => [created, cordoned]), [[1, false], [2, false]]);
});

test("next run: does not treat a gate as passed when all policies that it has read conflict", async (stage) => {
  const rules = { gates: [gateOf("EachMachine")] };
  const pool = await stage.grownPool({ replicas: 1, rules });
  pool.fate = () => "registered";
  pool.change({ image: "image-2" });
  const handle = await stage.rollOut(pool);
  await eventually("a join under way", () => pool.count("awaitMachinesJoined") === 1);
  Object.assign(pool.rules, { gates: [], source: "none", conflict: 'Policies "a" and "b" select it' });
  await anotherRun(stage, pool);
  pool.mend();
  await stage.sees(pool, "the doubt", ({ reason }) => reason === "GateInconclusive");
  deepEqual([pool.count("awaitGates"), pool.count("ensureVictimReleased")], [0, 0]);
  Object.assign(pool.rules, { ...rules, source: "defaults", conflict: null });
  await stage.tell(pool);
  equal((await handle.result()).replaced, 1);
  assertOrderly(pool);
});

test("next run: accepts the state of a newer version, even if fields are missing", async (stage) => {
  const pool = await stage.grownPool({ replicas: 2 });
  pool.change({ image: "image-2" });
  const paused = { by: "ada", reason: "incident", since: 1 };
  const { paused: _, ...memory } = recall(pool);
  const state = { memory: { ...memory, recalled: true }, people: { paused, mood: "calm" }, quarters: {} };
  const handle = await stage.rollOut(pool, { carried: { schemaVersion: 9, ...state } as unknown as CarriedState });
  deepEqual((await stage.stands(handle, "Rolling", "Paused")).pausedBy, paused);
  await stage.ask(pool, "resume");
  equal((await handle.result()).replaced, 2);
  assertRuns(pool, "image-2");
});
