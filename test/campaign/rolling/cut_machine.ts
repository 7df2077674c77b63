/** A machine that is cut off from its network during a rollout, and returns. */
import assert from "node:assert/strict";
import type { Scene } from "./rollouts.ts";
import type { FailedVisit } from "./visit.ts";

/** A machine's time without a network, in epoch milliseconds. */
export interface Cut {
  machine: string;
  from: number;
  /** When the node was "Unknown" and no ready endpoint was on it, so that no more requests were sent there. */
  noticedAt: number;
}

/** The node controller's grace period of 20 s and its interval of 2 s, twice for a busy host. */
const graceMs = 45_000;
/** A request sent this long before the cut may still get no answer. */
const answerMs = 5_000;
/** Matches the message of a rollout while too few machines are Ready to continue. */
const waiting = /^Waiting for (room in the budget|other machines to be Ready|\S+ to be Ready again)/;

/**
 * Cuts the first new machine off the network while the second one boots; by then a pod of the test's workload runs on
 * the first. The machine may still be alive, so the rollout must wait. Restores the network when the rollout reports
 * that it waits.
 */
export async function cutFirstNewcomer(scene: Scene): Promise<Cut> {
  const { world, pool, visitors } = scene;
  const machine = await guestsNewHost(scene, await pool.untilUnderway("Joining", 1));
  const from = Date.now();
  await world.site.cloud.partition(machine, true);
  const isMissed = async (): Promise<boolean> =>
    await pool.readiness(machine) === "Unknown" && visitors.ready().every(({ node }) => node !== machine);
  await world.until(`"${machine}" to be missed`, isMissed, 120);
  const noticedAt = Date.now();
  const { failedMachines } = await pool.until("the rollout to wait", ({ message }) => waiting.test(message));
  assert.equal(failedMachines, 0, "Expected a machine that is cut off not to count as failed");
  await world.site.cloud.partition(machine, false);
  await world.until(`"${machine}" to be back`, async () => await pool.readiness(machine) === "True", 120);
  return { machine, from, noticedAt };
}

/** Whether a request could get no answer because of the cut, before the cluster noticed. */
export function isExcused({ machine, from, noticedAt }: Cut, { at, to }: FailedVisit): boolean {
  return to?.node === machine && at >= from - answerMs && at <= Math.min(noticedAt, from + graceMs);
}

// Returns the first new machine once a guest pod is ready on it; machines of one template share the first part of their
// name.
async function guestsNewHost({ world, pool, visitors }: Scene, newcomer: string): Promise<string> {
  const template = newcomer.slice(0, newcomer.lastIndexOf("-") + 1);
  return await world.until("a guest on the first new machine", async () => {
    const hosts = visitors.ready().map(({ node }) => node);
    return (await pool.names()).find((name) => name.startsWith(template) && hosts.includes(name));
  });
}
