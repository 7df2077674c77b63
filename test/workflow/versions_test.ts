/** A rollout under way goes on with the next version of Ostler, and with the one before. */
import { deepEqual, equal, ok } from "node:assert/strict";
import type { WorkflowHandle } from "@temporalio/client";
import { eventually } from "../support/eventually.ts";
import type { FakePool } from "../support/fake_pool.ts";
import { assertOrderly, assertRuns, budgetOf } from "../support/pool_checks.ts";
import { onStage, testDeadlines } from "../support/workflow_stage.ts";
import type { Stage, StageVersion } from "../support/workflow_stage.ts";

const versionsAtMost = 8;

const test = onStage({
  dynamicConfig: [
    'matching.wv.VersionDrainageStatusVisibilityGracePeriod="1s"',
    'matching.wv.VersionDrainageStatusRefreshInterval="1s"',
    `matching.maxVersionsInDeployment=${versionsAtMost}`,
  ],
});

/** temporal.api.enums.v1.VersionDrainageStatus */
const drained = 2;

const deploymentName = "ostler";
const namespace = "default";

/** Replaces every worker by one of this version, which becomes the current one, as a deployment does. */
async function deploy(stage: Stage, version: StageVersion & { buildId: string }): Promise<void> {
  await stage.changeWorker(version, () => makeCurrent(stage, version.buildId));
}

/** As soon as its workers poll; or without any, for a version of which nothing more is needed than that it was there. */
async function makeCurrent(stage: Stage, buildId: string, allowNoPollers = false): Promise<void> {
  const order = {
    namespace,
    deploymentName,
    buildId,
    identity: "tester",
    allowNoPollers,
    ignoreMissingTaskQueues: allowNoPollers,
  };
  let last: unknown;
  const tried = (): Promise<boolean> =>
    stage.client.workflowService.setWorkerDeploymentCurrentVersion(order).then(() => true, (error: unknown) => {
      last = error;
      return false;
    });
  await eventually(`version ${buildId} current`, tried).catch((error: Error) => {
    throw new Error(`${error.message}: ${String(last)}`);
  });
}

interface Ran {
  failures: number;
  builds: string[];
}

/** What the history of a run tells of the versions it ran on. */
async function ran(handle: Pick<WorkflowHandle, "fetchHistory">): Promise<Ran> {
  const { events } = await handle.fetchHistory();
  const builds = (events ?? []).flatMap(({ workflowTaskCompletedEventAttributes: done }) =>
    done?.deploymentVersion?.buildId ?? []
  );
  const failures = (events ?? []).filter(({ workflowTaskFailedEventAttributes: failed }) => failed);
  return { failures: failures.length, builds: builds.filter((build, at) => build !== builds[at - 1]) };
}

async function behaviourOf(stage: Stage, pool: FakePool): Promise<unknown> {
  const execution = { workflowId: pool.holder };
  const told = await stage.client.workflowService.describeWorkflowExecution({ namespace, execution });
  return told.workflowExecutionInfo?.versioningInfo?.behavior;
}

/** A pool with a drain under way that is blocked, holding its place of the shared budget. */
async function drainingPool(stage: Stage): Promise<FakePool> {
  const pool = await stage.grownPool({ replicas: 3, rules: { budget: { ...budgetOf(1), cluster: 1 } } });
  pool.isDrainBlocked = true;
  pool.change({ image: "image-2" });
  await stage.rollOut(pool, { deadlines: { drain: 60_000, recheck: 500 } });
  await stage.sees(pool, "a drain", ({ underway }) => underway.some(({ step }) => step === "Draining"));
  return pool;
}

/** The run is at work on the new version, with its drain and its place as they were. */
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

test("a drain under the shared budget is taken over by the next version, and back by the one before", async (stage) => {
  await deploy(stage, { buildId: "a1" });
  const pool = await drainingPool(stage);
  const handle = stage.client.workflow.getHandle(pool.holder);
  equal(await behaviourOf(stage, pool), 2, "it moves with the current version");
  await deploy(stage, { buildId: "b1", next: true, holdPatches: true });
  await takenOver(stage, pool, "b1");
  await deploy(stage, { buildId: "a2" });
  await takenOver(stage, pool, "a2");
  await finished(stage, pool);
  deepEqual(await ran(handle), { failures: 0, builds: ["a1", "b1", "a2"] });
});

test("a run that a patch has changed waits for a version that knows the patch, and loses nothing", async (stage) => {
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

test("more versions than a server keeps come and go over one rollout that is halted", async (stage) => {
  const pool = await stage.grownPool({ replicas: 2 });
  pool.fate = () => "registered";
  pool.change({ image: "image-2" });
  const handle = await stage.rollOut(pool, { attempts: 1, deadlines: { ...testDeadlines, ready: 200 } });
  await stage.stands(handle, "Halted");
  for (let nth = 1; nth <= versionsAtMost + 2; nth++) await makeCurrent(stage, `v${nth}`, true);
  await deploy(stage, { buildId: "last", next: true });
  await eventually("all but the current one drained", async () => {
    const asked = { namespace, deploymentName };
    const { workerDeploymentInfo } = await stage.client.workflowService.describeWorkerDeployment(asked);
    const versions = workerDeploymentInfo?.versionSummaries ?? [];
    ok(versions.length > 1 && versions.length <= versionsAtMost);
    const open = versions.filter(({ drainageStatus }) => drainageStatus !== drained);
    return open.length === 1 && open[0]?.deploymentVersion?.buildId === "last";
  });
  await takeCommand(stage, pool);
});

/** A halted rollout still answers and acts, on a version that came long after it halted. */
async function takeCommand(stage: Stage, pool: FakePool): Promise<void> {
  pool.mend();
  await stage.ask(pool, "retry");
  const handle = stage.client.workflow.getHandle(pool.holder);
  equal((await handle.result() as { replaced: number }).replaced, 2);
  equal((await ran(handle)).builds.at(-1), "last");
}
