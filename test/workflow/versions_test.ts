/** A running rollout continues with the next version of Ostler, and with the previous one. */
import { deepEqual, equal, ok } from "node:assert/strict";
import { readConfig } from "../../workers/config.ts";
import { keepVersionCurrent } from "../../workers/current_version.ts";
import { eventually } from "../support/eventually.ts";
import type { FakePool } from "../support/fake_pool.ts";
import { assertOrderly, assertRuns, budgetOf } from "../support/pool_checks.ts";
import { onStage, testDeadlines } from "../support/workflow_stage.ts";
import type { Stage } from "../support/workflow_stage.ts";
import { currentBuild, deploy, knownVersions, makeCurrent, ran } from "../support/worker_versions.ts";

const versionsAtMost = 8;

const test = onStage({
  dynamicConfig: [
    'matching.wv.VersionDrainageStatusVisibilityGracePeriod="1s"',
    'matching.wv.VersionDrainageStatusRefreshInterval="1s"',
    `matching.maxVersionsInDeployment=${versionsAtMost}`,
  ],
});

const namespace = "default";

async function behaviourOf(stage: Stage, pool: FakePool): Promise<unknown> {
  const execution = { workflowId: pool.holder };
  const told = await stage.client.workflowService.describeWorkflowExecution({ namespace, execution });
  return told.workflowExecutionInfo?.versioningInfo?.behavior;
}

/** Returns a pool that has a slot of the shared budget, and whose running drain is blocked. */
async function drainingPool(stage: Stage): Promise<FakePool> {
  const pool = await stage.grownPool({ replicas: 3, rules: { budget: { ...budgetOf(1), cluster: 1 } } });
  pool.isDrainBlocked = true;
  pool.change({ image: "image-2" });
  await stage.rollOut(pool, { deadlines: { drain: 60_000, recheck: 500 } });
  await stage.sees(pool, "a drain", ({ underway }) => underway.some(({ step }) => step === "Draining"));
  return pool;
}

/** Asserts that the run has moved to version `build`, with the same drain and the same slot. */
async function takenOver(stage: Stage, pool: FakePool, build: string): Promise<void> {
  const handle = stage.client.workflow.getHandle(pool.holder);
  await eventually(`${build} at work`, async () => {
    await stage.tell(pool);
    return (await ran(handle)).builds.at(-1) === build;
  });
  await stage.sees(pool, "the same drain", ({ underway }) => underway.some(({ step }) => step === "Draining"));
  equal(stage.activities.slots.heldBy(pool.ref).length, 1);
}

async function finished(stage: Stage, pool: FakePool): Promise<void> {
  const handle = stage.client.workflow.getHandle(pool.holder);
  pool.unblock();
  equal((await handle.result() as { replaced: number }).replaced, 3);
  deepEqual(stage.activities.slots.heldBy(pool.ref), []);
  assertOrderly(pool);
  assertRuns(pool, "image-2");
}

test("versions: the next version takes over a drain in the shared budget, and the previous one takes it back", async (stage) => {
  await deploy(stage, { buildId: "a1" });
  const pool = await drainingPool(stage);
  const handle = stage.client.workflow.getHandle(pool.holder);
  equal(await behaviourOf(stage, pool), 2, "Expected the run to move with the current version");
  await deploy(stage, { buildId: "b1", next: true, holdPatches: true });
  await takenOver(stage, pool, "b1");
  await deploy(stage, { buildId: "a2" });
  await takenOver(stage, pool, "a2");
  await finished(stage, pool);
  deepEqual(await ran(handle), { failures: 0, builds: ["a1", "b1", "a2"] });
});

test("versions: a run that has used a workflow patch waits for a version with the patch, and then continues its drain", async (stage) => {
  const pool = await drainingPool(stage);
  const handle = stage.client.workflow.getHandle(pool.holder);
  await deploy(stage, { buildId: "b2", next: true });
  await takenOver(stage, pool, "b2");
  await deploy(stage, { buildId: "a3" });
  await eventually("a refusal", async () => {
    await stage.tell(pool);
    return (await ran(handle)).failures > 0;
  });
  await deploy(stage, { buildId: "b3", next: true });
  await takenOver(stage, pool, "b3");
  await finished(stage, pool);
});

test("versions: a halted rollout continues after more versions of Ostler were current than the Temporal server keeps", async (stage) => {
  const pool = await stage.grownPool({ replicas: 2 });
  pool.fate = () => "registered";
  pool.change({ image: "image-2" });
  const handle = await stage.rollOut(pool, { attempts: 1, deadlines: { ...testDeadlines, ready: 200 } });
  await stage.stands(handle, "Halted");
  for (let nth = 1; nth <= versionsAtMost + 2; nth++) await makeCurrent(stage, `v${nth}`, { allowNoPollers: true });
  await deploy(stage, { buildId: "last", next: true });
  await eventually("all but the current one drained", async () => {
    const { kept, open } = await knownVersions(stage) ?? { kept: [], open: [] };
    ok(kept.length <= versionsAtMost);
    return kept.length > 1 && open.join() === "last";
  });
  await takeCommand(stage, pool);
});

test("versions: a controller makes the version of its build current when its workers poll", async (stage) => {
  const stop = new AbortController();
  const keeping = keepVersionCurrent(readConfig({ OSTLER_BUILD_ID: "c1" }), {
    connect: () => Promise.resolve(stage.client),
    log: { info: () => {}, warn: () => {} },
    signal: stop.signal,
    // Earlier tests made other versions current before this time, so the controller may replace those versions.
    startedAt: Date.now(),
    pauses: { current: 50, waiting: 50 },
  });
  try {
    const pool = stage.pool();
    await stage.changeWorker({ buildId: "c1" }, () => runsOn(stage, "c1"));
    await (await stage.rollOut(pool)).result();
    equal((await ran(stage.client.workflow.getHandle(pool.holder))).builds.at(-1), "c1");
  } finally {
    stop.abort();
    await keeping;
  }
});

async function runsOn(stage: Stage, buildId: string): Promise<void> {
  await eventually(`${buildId} current`, async () => await currentBuild(stage) === buildId);
}

/**
 * Asserts that a rollout accepts `retry`, and continues, on a version that was deployed long after the rollout halted.
 */
async function takeCommand(stage: Stage, pool: FakePool): Promise<void> {
  pool.mend();
  await stage.ask(pool, "retry");
  const handle = stage.client.workflow.getHandle(pool.holder);
  equal((await handle.result() as { replaced: number }).replaced, 2);
  equal((await ran(handle)).builds.at(-1), "last");
}
