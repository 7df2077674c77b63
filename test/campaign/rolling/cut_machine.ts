/** A machine that is cut off from its network in the middle of a rollout, and comes back. */
import assert from "node:assert/strict";
import type { Scene } from "./rollouts.ts";
import type { FailedVisit } from "./visit.ts";

/** A machine's time without a network, in epoch milliseconds. */
export interface Cut {
  machine: string;
  from: number;
  /** The cluster had noticed, and nobody was sent there any more. */
  noticedAt: number;
}

/** The node controller's grace of 20 s and its period of 2 s, and as much again for a busy host. */
const graceMs = 45_000;
/** A request that was under way when the network went may go unanswered. */
const answerMs = 5_000;
/** What a rollout says while too few machines are there to go on. */
const waiting = /^Waiting for (room in the budget|other machines to be Ready|\S+ to be Ready again)/;

/**
 * While the second newcomer boots, cuts off the first one, which carries a guest by now. It comes back when the rollout
 * has said that it waits: nobody can know that the machine is not dead.
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
  assert.equal(failedMachines, 0, "a machine that is cut off has not failed");
  await world.site.cloud.partition(machine, false);
  await world.until(`"${machine}" to be back`, async () => await pool.readiness(machine) === "True", 120);
  return { machine, from, noticedAt };
}

/** Whether a request could not be answered because of the cut: nobody could know yet. */
export function isExcused({ machine, from, noticedAt }: Cut, { at, to }: FailedVisit): boolean {
  return to?.node === machine && at >= from - answerMs && at <= Math.min(noticedAt, from + graceMs);
}

// Machines of one template share their name but for its last part.
async function guestsNewHost({ world, pool, visitors }: Scene, newcomer: string): Promise<string> {
  const template = newcomer.slice(0, newcomer.lastIndexOf("-") + 1);
  return await world.until("a guest on the first newcomer", async () => {
    const hosts = visitors.ready().map(({ node }) => node);
    return (await pool.names()).find((name) => name.startsWith(template) && hosts.includes(name));
  });
}
