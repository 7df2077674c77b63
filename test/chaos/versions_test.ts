// deno-lint-ignore-file no-console -- this test prints its measurements
/**
 * Deploys more versions of Ostler than the Temporal server keeps, during a halted rollout and a paused one. The dev
 * server has its defaults: it keeps 100 versions of a deployment, checks every three minutes which have drained, and
 * remembers pollers for five minutes. If a hundred versions are deployed before any of them has drained, the next
 * deployment waits for a drained version. On two busy cores the test takes 19 minutes, each version 6 s. The paused run
 * moves through all 120 versions, the halted one from the first to the last.
 */
import { deepEqual, equal, ok } from "node:assert/strict";
import process from "node:process";
import { setTimeout } from "node:timers/promises";
import type { RollOutResult } from "../../workflows/contracts/mod.ts";
import { eventually } from "../support/eventually.ts";
import type { FakePool } from "../support/fake_pool.ts";
import { assertOrderly, assertRuns } from "../support/pool_checks.ts";
import { Stage, testDeadlines } from "../support/workflow_stage.ts";
import { deleteVersion, deploy, knownVersions, ran } from "../support/worker_versions.ts";

const versions = Number(process.env["CHAOS_VERSIONS"] ?? 120);

/** The default of `matching.maxVersionsInDeployment`. */
const keptAtMost = 100;

const minute = 60_000;
const last = `v${versions}`;

Deno.test({
  name:
    `versions: a halted and a paused rollout continue after ${versions} versions of the worker, of which Temporal keeps ${keptAtMost}`,
  sanitizeOps: false,
  sanitizeResources: false,
  fn: async () => {
    const stage = new Stage();
    try {
      await stage.open();
      await outliveVersions(stage);
    } finally {
      await stage.close();
    }
  },
});

async function outliveVersions(stage: Stage): Promise<void> {
  await deploy(stage, { buildId: "v1" });
  const halted = await haltedPool(stage);
  const paused = await pausedPool(stage);
  const seconds: number[] = [];
  for (let nth = 2; nth <= versions; nth++) {
    const start = performance.now();
    await deploy(stage, { buildId: `v${nth}` }, 15 * minute);
    seconds.push((performance.now() - start) / 1000);
    await stage.tell(paused); // wakes the paused run, so that it moves to the new version; the halted run is idle
  }
  const kept = await eventually("all but the current version drained", () => onlyCurrentOpen(stage), {
    withinMs: 15 * minute,
  });
  ok(kept <= keptAtMost, `The server keeps ${kept}`);
  const sorted = seconds.toSorted((a, b) => a - b);
  const [half, all] = [sorted[Math.floor(sorted.length / 2)], sorted.at(-1)].map((value) => value?.toFixed(1));
  console.log(
    `${versions} versions, ${kept} kept; half became current within ${half} s, all within ${all} s`,
  );
  await deletable(stage);
  await resumeOn(stage, halted, "retry");
  await resumeOn(stage, paused, "resume");
}

async function haltedPool(stage: Stage): Promise<FakePool> {
  const pool = await stage.grownPool({ replicas: 2 });
  pool.fate = () => "registered";
  pool.change({ image: "image-2" });
  const handle = await stage.rollOut(pool, {
    attempts: 1,
    deadlines: { ...testDeadlines, ready: 200, recheck: 24 * 60 * minute },
  });
  await stage.stands(handle, "Halted");
  return pool;
}

async function pausedPool(stage: Stage): Promise<FakePool> {
  const pool = await stage.grownPool({ replicas: 3 });
  pool.fate = (_, image) => image === "image-2" ? "registered" : "joins";
  pool.change({ image: "image-2" });
  const deadlines = { ...testDeadlines, ready: 24 * 60 * minute, recheck: 24 * 60 * minute };
  const handle = await stage.rollOut(pool, { deadlines });
  await eventually("a join under way", () => pool.count("awaitMachinesJoined") === 1);
  await stage.ask(pool, "pause");
  await stage.stands(handle, "Rolling", "Paused");
  return pool;
}

async function onlyCurrentOpen(stage: Stage): Promise<number | false> {
  const known = await knownVersions(stage);
  return known?.open.join() === last && known.kept.length;
}

/** Expects that a drained version can be deleted, once the server has forgotten the workers that polled for it. */
async function deletable(stage: Stage): Promise<void> {
  const buildId = `v${versions - 1}`;
  const tried = async (): Promise<boolean> => {
    await setTimeout(1_000);
    return await deleteVersion(stage, buildId).then(() => true, () => false);
  };
  await eventually(`${buildId} deleted`, tried, { withinMs: 15 * minute });
  equal((await knownVersions(stage))?.kept.includes(buildId), false);
}

/**
 * Expects a rollout that waited all the time to execute the command on the last version, without a failed workflow
 * task.
 */
async function resumeOn(stage: Stage, pool: FakePool, command: string): Promise<void> {
  pool.mend();
  await stage.ask(pool, command);
  const handle = stage.client.workflow.getHandle(pool.holder);
  equal((await handle.result() as RollOutResult).replaced, pool.replicas);
  const { failures, builds } = await ran(handle);
  deepEqual([failures, builds.at(-1)], [0, last]);
  console.log(`${command}: ran on ${builds.length} versions`);
  assertOrderly(pool);
  assertRuns(pool, "image-2");
}
