/** Changes of a pool whose machines carry guests, and what must be true after each. */
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

/** What a pool is to become. */
export interface Change {
  kubelet: string;
  image: string;
  /** Never fewer nodes may be Ready, and never more machines be there. */
  bounds: { ready: number; machines: number };
}

/** What a change of the whole pool has to do with. */
export interface Scene {
  world: World;
  host: ContainerHost;
  pool: PoolView;
  visitors: Visitors;
}

const replicas = 3;
const workflowId = "machine-deployment/kube-system/pool";

/**
 * Changes the pool and sees all of its machines replaced; `meanwhile` begins with the change. Gives what visitors saw,
 * which nobody has judged yet.
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
  assert.deepEqual(now.filter((name) => before.includes(name)), [], "all are replaced");
  // machine-controller takes the nodes of machines away that are gone.
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

/** The same bounds in the words of an observer. */
export function promisedBy({ ready, machines }: Change["bounds"]): { replicas: number; surge: number } {
  return { replicas: ready, surge: machines - ready };
}

function isConverged({ phase, updated }: { phase: string; updated?: string }): boolean {
  return phase === "Converged" && updated === `${replicas}/${replicas}`;
}

// Each carried a guest that ends only some time after it was told to; a machine that goes before takes answers with it.
async function wereDrained(world: World, names: readonly string[]): Promise<void> {
  const handle = world.temporal.workflow.getHandle(workflowId);
  const { outcome, replacements }: RollOutResult = await handle.result();
  assert.equal(outcome, "Converged");
  assert.deepEqual(replacements.map(({ machine }) => machine).sort(), names);
  const times = [...await drainTimesOf(handle)];
  assert.deepEqual(times.map(([machine]) => machine).sort(), names);
  const hasty = times.filter(([, seconds]) => seconds < guests.drainSeconds);
  assert.deepEqual(hasty, [], "a drain waits until its pods have ended");
}

/** All requests were answered, the guests' budget was kept, and somebody asked all the time. */
export function wereServed(report: VisitReport): void {
  wereServedBut(() => false, report);
  assert.ok(report.leastReady >= guests.replicas - 1, `Only ${report.leastReady} endpoints were ready at a time`);
}

/** All requests were answered but those that are excused, and somebody asked all the time. */
export function wereServedBut(
  isExcused: (visit: FailedVisit) => boolean,
  { answered, failed, longestPauseMs }: VisitReport,
): void {
  assert.deepEqual(failed.filter((visit) => !isExcused(visit)), [], `${answered} other requests were answered`);
  assert.ok(longestPauseMs < 5_000, `Nobody asked for ${longestPauseMs} ms`);
}
