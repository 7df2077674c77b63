/**
 * Replaces a machine that could not be updated in place, if the policy permits that and another controller would
 * recreate it. The replacement needs a slot of the budget, which it keeps until the node is gone. Each replacement
 * counts as a failure, so that an image, or a template, that works nowhere cannot consume the fleet.
 */
import type { Maker, Replacing, StageOutcome, UpdateFailureType, Updating } from "../contracts/mod.ts";
import { isOwnRefusal, replacesRefused } from "../policy/replaced.ts";
import { updates } from "../proxies.ts";
import { noteStage } from "../state/loop.ts";
import { noteLately } from "../state/machines.ts";
import type { Task } from "../state/tasks.ts";
import { warn } from "../state/rollout.ts";
import { drain } from "./drain.ts";
import { failUpdate, remember } from "./fail_update.ts";
import type { Updated } from "./fail_update.ts";

/** A failed update; `isOwn` if the failure is of the machine, and not of the image. */
export interface Failing {
  begun: Updating;
  reason: UpdateFailureType;
  message: string;
  isOwn: boolean;
}

/**
 * Returns true if a machine that refused the image waits for its slot, in which it is asked again and then replaced.
 */
export async function leaveToReplace(
  rollout: Updated,
  task: Task,
  { image, seen }: { image: string; seen: StageOutcome & { outcome: "Refused" } },
): Promise<boolean> {
  const { settings: { pool }, machines, view } = rollout;
  const { subject: machine, templateHash } = task;
  if (!isOwnRefusal(seen.reason) || !await findMaker(rollout, task, { image })) return false;
  const at = Date.now();
  // Counted only when it is replaced, as the machine may have recovered by then.
  await remember(pool, machine, { image, reason: "StageRefused", at, isReplaceable: true });
  noteLately(machines, machine, { is: "Refused", templateHash, at });
  const message = `Machine "${machine}": ${seen.reason}: ${seen.message}; to be retried in its turn, then replaced`;
  warn(view, "StageRefused", message);
  return true;
}

/** Counts the failure; returns Doomed if the machine has to be replaced for it. */
export async function failOrDoom(rollout: Updated, task: Task, failing: Failing): Promise<"Doomed" | "Kept"> {
  const { begun, reason, message, isOwn } = failing;
  const { image, boot } = begun;
  const maker = isOwn ? await findMaker(rollout, task, { image, bootId: boot?.id }) : null;
  await failUpdate(rollout, task, { image, reason, message });
  if (!maker || !mayReplace(rollout, task)) return "Kept";
  // A lost or not Ready machine was drained before its reboot.
  const isDead = boot !== undefined && (reason === "UpdateLost" || reason === "UpdateNotReady");
  begun.replacing = { maker, why: `${reason}: ${message}`, isDead };
  delete begun.drainSince; // the drain has its whole time again
  return "Doomed";
}

/**
 * Drains the node, has its machine deleted, and waits until the node is gone; returns Kept if the machine has to stay
 * after all.
 */
export async function replace(rollout: Updated, task: Task, begun: Updating): Promise<"Gone" | "Kept"> {
  const { machines } = rollout;
  const { replacing } = begun;
  if (replacing && await orderReplaced(rollout, task, { begun, replacing }) === "Ordered") {
    await seeGone(rollout, task, { begun, replacing });
    delete machines.lately[task.subject]; // a new node of this name is another one
    return "Gone";
  }
  delete begun.replacing;
  return "Kept";
}

interface Doomed {
  begun: Updating;
  replacing: Replacing;
}

async function orderReplaced(rollout: Updated, task: Task, doomed: Doomed): Promise<"Ordered" | "Kept"> {
  const { replacing } = doomed;
  if (!replacing.isOrdered && !await empties(rollout, task, doomed)) return "Kept";
  replacing.isOrdered = true;
  Object.assign(task, { step: "Removing", blockers: [] });
  noteStage(rollout.loop);
  if (!replacing.isDeleted && await deleteMachine(rollout, task, doomed) === "Kept") return "Kept";
  replacing.isDeleted = true;
  return "Ordered";
}

async function deleteMachine(
  { settings: { pool }, view }: Updated,
  { subject: machine }: Task,
  { begun: { image }, replacing: { maker, why } }: Doomed,
): Promise<"Replaced" | "Gone" | "Kept"> {
  const summary = `Replace ${machine}: ${why}`.slice(0, 200);
  const outcome = await updates.ensureNodeReplaced.executeWithOptions({ summary }, [{ pool, machine, image, maker }]);
  if (outcome === "Replaced") {
    warn(view, "NodeReplaced", `Replacing node "${machine}" and machine "${maker.machine}": ${why}`);
  }
  return outcome;
}

/**
 * Returns false if the node must not be replaced any more: a changed policy also applies to replacements in progress.
 */
async function empties(rollout: Updated, task: Task, { begun, replacing }: Doomed): Promise<boolean> {
  if (!replacesRefused(rollout.target.rules)) return false;
  if (replacing.isDead) return true;
  task.step = "Draining";
  task.since = begun.drainSince ??= Date.now();
  const { subject: id } = task;
  return await drain(rollout, task, { id, node: id }) === "Drained" && replacesRefused(rollout.target.rules);
}

async function seeGone(
  rollout: Updated,
  task: Task,
  { begun: { image }, replacing: { maker } }: Doomed,
): Promise<void> {
  const { settings: { pool, durations }, view } = rollout;
  const { subject: machine } = task;
  for (;;) {
    task.until = Date.now() + durations.gone;
    const summary = `Wait until node ${machine} is gone`;
    const input = { pool, machine, image, maker, until: task.until };
    if (await updates.awaitNodeGone.executeWithOptions({ summary }, [input])) return;
    warn(view, "MachineRemains", `Node "${machine}" still exists and keeps its slot`);
  }
}

/** Returns the owner that would recreate the machine; null unless the policy permits replacement. */
async function findMaker(
  { settings: { pool }, target }: Updated,
  { subject: machine }: Task,
  { image, bootId = "" }: { image: string; bootId?: string | undefined },
): Promise<Maker | null> {
  if (pool.kind !== "NodePool" || !replacesRefused(target.rules)) return null;
  const summary = `Read the pool that recreates ${machine}`;
  return await updates.readMaker.executeWithOptions({ summary }, [{ pool, machine, image, bootId }]);
}

/** Returns whether one more machine can be replaced: at most `maxFailed`, and only while its template is desired. */
function mayReplace({ target: { rules, desired }, machines }: Updated, { templateHash }: Task): boolean {
  if (!rules || !replacesRefused(rules) || templateHash !== desired?.templateHash) return false;
  return machines.failures <= rules.maxFailed;
}
