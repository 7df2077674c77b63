/**
 * Replaces a machine that could not be updated in place, if the policy permits that and another controller would
 * recreate it. The replacement needs a slot of the budget, and keeps it until the node is gone. Each replacement counts
 * as a failure, so that an image or a template that works nowhere does not lead to the replacement of all machines.
 */
import type { Maker, Replacing, StageOutcome, UpdateFailureType, Updating } from "../contracts/mod.ts";
import { isOwnRefusal, replacesRefused } from "../policy/replaced.ts";
import { updates } from "../proxies.ts";
import type { StagingOutcome } from "../state/outcomes.ts";
import { drain } from "./drain.ts";
import { failUpdate, remember } from "./fail_update.ts";
import type { Work } from "./work.ts";

/** A failed update; `isOwn` is whether the cause is the machine and not the image. */
export interface Failing {
  begun: Readonly<Updating>;
  reason: UpdateFailureType;
  message: string;
  isOwn: boolean;
}

/**
 * Leaves a machine unchanged after it refused the image, until the machine gets a slot of the budget. Then another task
 * orders the update once more, and replaces the machine if that fails too. Returns undefined if the machine must not be
 * replaced.
 */
export async function leaveToReplace(
  work: Work,
  { image, seen }: { image: string; seen: StageOutcome & { outcome: "Refused" } },
): Promise<StagingOutcome | undefined> {
  const { settings: { pool }, task: { subject: machine } } = work;
  if (!isOwnRefusal(seen.reason) || !await findMaker(work, { image })) return undefined;
  const at = Date.now();
  // The failure is not counted yet, because the machine may recover before its turn comes.
  await remember(pool, machine, { image, reason: "StageRefused", at, isReplaceable: true });
  const next = "Ostler retries once when the machine's wave comes, and replaces the machine if that fails too";
  const message = `Machine "${machine}": ${seen.reason}: ${seen.message}; ${next}`;
  return { is: "Staged", lately: "Refused", at, news: { type: "Warning", reason: "StageRefused", message } };
}

/** Records and counts the failure; returns Doomed if the machine has to be replaced because of it. */
export async function failOrDoom(work: Work, failing: Failing): Promise<"Doomed" | "Kept"> {
  const { begun: { image, boot }, reason, message, isOwn } = failing;
  const maker = isOwn ? await findMaker(work, { image, bootId: boot?.id }) : null;
  await failUpdate(work, { image, reason, message });
  if (!maker || !mayReplace(work)) return "Kept";
  // A machine that is lost, or not Ready after its reboot, was drained before the reboot and cannot be drained now.
  const isDead = boot !== undefined && (reason === "UpdateLost" || reason === "UpdateNotReady");
  work.note({ is: "Doomed", replacing: { maker, why: `${reason}: ${message}`, isDead } });
  return "Doomed";
}

/**
 * Drains the node, deletes its machine, and waits until the node is gone; returns Kept if the machine is not replaced
 * after all.
 */
export async function replace(work: Work, begun: Readonly<Updating>): Promise<"Gone" | "Kept"> {
  const { replacing } = begun;
  if (replacing && await orderReplaced(work, { begun, replacing }) === "Ordered") {
    await seeGone(work, { begun, replacing });
    return "Gone";
  }
  work.note({ is: "ReplacementDropped" });
  return "Kept";
}

interface Doomed {
  begun: Readonly<Updating>;
  replacing: Readonly<Replacing>;
}

async function orderReplaced(work: Work, doomed: Doomed): Promise<"Ordered" | "Kept"> {
  const { replacing } = doomed;
  if (!replacing.isOrdered && !await empties(work, doomed)) return "Kept";
  work.note({ is: "ReplacementOrdered" });
  work.note({ is: "Stepped", step: "Removing" });
  if (!replacing.isDeleted && await deleteMachine(work, doomed) === "Kept") return "Kept";
  work.note({ is: "ReplacementDeleted" });
  return "Ordered";
}

async function deleteMachine(
  { settings: { pool }, task: { subject: machine }, note }: Work,
  { begun: { image }, replacing: { maker, why } }: Doomed,
): Promise<"Replaced" | "Gone" | "Kept"> {
  const summary = `Replace ${machine}: ${why}`.slice(0, 200);
  const outcome = await updates.ensureNodeReplaced.executeWithOptions({ summary }, [{ pool, machine, image, maker }]);
  if (outcome === "Replaced") {
    const message = `Replacing node "${machine}" and machine "${maker.machine}": ${why}`;
    note({ is: "Told", news: { type: "Warning", reason: "NodeReplaced", message } });
  }
  return outcome;
}

/**
 * Drains the node, unless it is dead. Returns whether the machine may still be replaced: false if the node could not be
 * drained, or if the policy no longer permits replacements.
 */
async function empties(work: Work, { begun, replacing }: Doomed): Promise<boolean> {
  const { target, task } = work;
  if (!replacesRefused(target.rules)) return false;
  if (replacing.isDead) return true;
  task.step = "Draining";
  beginDrain(work, begun);
  return await drain(work, task.subject) === "Drained" && replacesRefused(target.rules);
}

/** Begins the timeout of a drain, unless an earlier run began it. */
export function beginDrain({ task, note }: Work, { drainSince }: Readonly<Updating>): void {
  task.since = drainSince ?? Date.now();
  if (drainSince === undefined) note({ is: "DrainBegan", at: task.since });
}

async function seeGone(
  { settings: { pool, durations }, task, note }: Work,
  { begun: { image }, replacing: { maker } }: Doomed,
): Promise<void> {
  const { subject: machine } = task;
  for (;;) {
    task.until = Date.now() + durations.gone;
    const summary = `Wait until node ${machine} is gone`;
    const input = { pool, machine, image, maker, until: task.until };
    if (await updates.awaitNodeGone.executeWithOptions({ summary }, [input])) return;
    const message = `Node "${machine}" still exists and keeps its slot`;
    note({ is: "Told", news: { type: "Warning", reason: "MachineRemains", message } });
  }
}

/**
 * Returns the pool that would recreate the machine; null if there is none, or if the policy does not permit
 * replacements.
 */
async function findMaker(
  { settings: { pool }, target, task: { subject: machine } }: Work,
  { image, bootId = "" }: { image: string; bootId?: string | undefined },
): Promise<Maker | null> {
  if (pool.kind !== "NodePool" || !replacesRefused(target.rules)) return null;
  const summary = `Read the pool that recreates ${machine}`;
  return await updates.readMaker.executeWithOptions({ summary }, [{ pool, machine, image, bootId }]);
}

/**
 * Returns whether the machine may be replaced: only while the template of its task is desired, and while at most
 * `maxFailed` machines have failed.
 */
function mayReplace({ target: { rules, desired }, machines, task: { templateHash } }: Work): boolean {
  if (!rules || !replacesRefused(rules) || templateHash !== desired?.templateHash) return false;
  return machines.failures <= rules.maxFailed;
}
