/** Changes of a pool whose machines have guests, and the expectations after each. */
import assert from "node:assert/strict";
import type { ContainerHost } from "../../../deploy/local/machines/container_host.ts";
import type { RollOutResult } from "../../../workflows/contracts/mod.ts";
import { poolPath, rollTo } from "../../integration/pool_objects.ts";
import type { World } from "../../integration/world.ts";
import { drainTimesOf } from "./drain_times.ts";
import { guests } from "./guests.ts";
import type { PoolView } from "./pool_view.ts";
import type { FailedVisit, VisitReport } from "./visit.ts";
import type { Visitors } from "./visitors.ts";

/** The desired state of a pool, and the limits that hold while the pool is changed. */
export interface Change {
  kubelet: string;
  image: string;
  /** Minimum number of Ready nodes, and maximum number of machines, at any time of the change. */
  bounds: { ready: number; machines: number };
}

/** The objects with which a story changes the pool and observes the change. */
export interface Scene {
  world: World;
  host: ContainerHost;
  pool: PoolView;
  visitors: Visitors;
}

const replicas = 3;
const workflowId = "machine-deployment/kube-system/pool";

/**
 * Changes the pool and waits until all of its machines are replaced; `meanwhile` begins with the change. Returns the
 * observations of the visitors, unchecked.
 */
export async function replaceAll(
  { world, pool, visitors }: Scene,
  { kubelet, image, bounds }: Change,
  meanwhile: () => Promise<void> = () => Promise.resolve(),
): Promise<VisitReport> {
  const before = await pool.names();
  await visitors.report();
  await world.observed(promisedBy(bounds), async () => {
    await world.patch(poolPath("pool"), rollTo(kubelet, image));
    await meanwhile();
    await pool.until("the pool converged", isConverged);
  });
  const now = await pool.names();
  assert.equal(now.length, replicas);
  assert.deepEqual(now.filter((name) => before.includes(name)), [], "Expected all to be replaced");
  // machine-controller deletes the nodes of deleted machines.
  await world.until("the new nodes alone", async () => {
    assert.deepEqual(await pool.versions(), now.map((name) => `${name} v${kubelet}`));
    return true;
  });
  const isGone = async (): Promise<boolean> => (await pool.containersOf(before)).length === 0;
  await world.until("no old machine at the engine", isGone);
  assert.deepEqual(await pool.containersOf(now), now);
  await wereDrained(world, before);
  const report = await visitors.report();
  assert.ok(report.pods.length >= 2 * guests.replicas, `Only ${report.pods.join(", ")} answered: not all guests moved`);
  return report;
}

/** Converts the bounds into the form that an observer takes. */
export function promisedBy({ ready, machines }: Change["bounds"]): { replicas: number; surge: number } {
  return { replicas: ready, surge: machines - ready };
}

function isConverged({ phase, updated }: { phase: string; updated?: string }): boolean {
  return phase === "Converged" && updated === `${replicas}/${replicas}`;
}

// Expects each machine's drain to have waited for its guest, which ends only some time after SIGTERM; a machine that is
// deleted earlier loses answers.
async function wereDrained(world: World, names: readonly string[]): Promise<void> {
  const handle = world.temporal.workflow.getHandle(workflowId);
  const { outcome, replacements }: RollOutResult = await handle.result();
  assert.equal(outcome, "Converged");
  assert.deepEqual(replacements.map(({ machine }) => machine).sort(), names);
  const times = [...await drainTimesOf(handle)];
  assert.deepEqual(times.map(([machine]) => machine).sort(), names);
  const hasty = times.filter(([, seconds]) => seconds < guests.drainSeconds);
  assert.deepEqual(hasty, [], "Expected a drain to wait until its pods have ended");
}

/**
 * Expects an answer to every request, requests without long pauses, and never more guests away than their
 * PodDisruptionBudget allows.
 */
export function wereServed(report: VisitReport): void {
  wereServedBut(() => false, report);
  assert.ok(report.leastReady >= guests.replicas - 1, `Only ${report.leastReady} endpoints were ready at a time`);
}

/** Expects an answer to every request except the excused ones, and requests without long pauses. */
export function wereServedBut(
  isExcused: (visit: FailedVisit) => boolean,
  { answered, failed, longestPauseMs }: VisitReport,
): void {
  assert.deepEqual(
    failed.filter((visit) => !isExcused(visit)),
    [],
    `Requests failed, beside ${answered} answered ones`,
  );
  assert.ok(longestPauseMs < 5_000, `No request was sent for ${longestPauseMs} ms`);
}
