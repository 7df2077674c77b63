/**
 * Removes one machine: drains it by the rules, releases it, and waits until it is gone; an unhealthy machine is
 * replaced.
 */
import type { Member, PoolRef } from "../contracts/mod.ts";
import { awaits, write } from "../proxies.ts";
import { noteStage } from "../state/loop.ts";
import { noteRepaired } from "../state/machines.ts";
import type { Machines } from "../state/machines.ts";
import { type Part, type Seen, tell } from "../state/rollout.ts";
import type { Task } from "../state/tasks.ts";
import { drain, drainEnd } from "./drain.ts";
import { recordGone, secondsSince } from "../state/results.ts";
import { begin } from "./tasks.ts";
import { needsRelief, relieve } from "./relieve.ts";

/** The groups that removing a machine changes. */
export type Removing =
  & Seen<"settings" | "target" | "people">
  & Part<"machines" | "tasks" | "records" | "memory" | "loop" | "view">;

/** Begins to drain a machine that machine-controller is deleting, releases it, and waits until it is gone. */
export function beginRemoval(rollout: Removing, victim: Member): void {
  const task = removalTask(rollout, victim);
  begin(rollout, task, async () => {
    if (needsRelief(rollout)) await relieve(rollout, task, victim);
    if (await drain(rollout, task, victim) === "Drained") await release(rollout, task, victim);
  });
}

/** Begins to replace an unhealthy machine: machine-controller creates another one as soon as this one is deleted. */
export function beginRepair(rollout: Removing, ill: Member): void {
  const task: Task = { ...removalTask(rollout, ill), kind: "repair", step: "Repairing" };
  tell(rollout.view, "RepairStarted", `Replacing machine "${ill.id}": ${ill.ill?.why ?? "unhealthy"}`);
  begin(rollout, task, async () => {
    // The machine may have recovered while an etcd check was inconclusive.
    if (needsRelief(rollout) && await relieveIll(rollout, task, ill) === "Well") return;
    // A dead node answers nothing, so it cannot be drained; on other unhealthy nodes there is time to move the pods.
    const isDead = ill.phase === "NotReady";
    if (!isDead && await drain(rollout, task, ill) === "SetAside") return;
    await deleteIll(rollout, task, ill);
  });
}

async function relieveIll(rollout: Removing, task: Task, { id, ...ill }: Member): Promise<"Well" | "Ill"> {
  await relieve(rollout, task, { id, ...ill });
  const { snapshot } = rollout.machines;
  return snapshot && !snapshot.ill.some((each) => each.id === id) ? "Well" : "Ill";
}

function removalTask({ machines, settings, target }: Removing, victim: Member): Task {
  const { id, node, templateHash } = victim;
  const since = beginDraining(machines, victim);
  return {
    kind: "leave",
    subject: id,
    ...(node ? { node } : {}),
    templateHash,
    step: "Draining",
    since,
    until: drainEnd({ settings, target }, since),
    attempt: 0,
    blockers: [],
    doubt: "",
  };
}

/** Returns when the drain began, which may have been in an earlier run. */
function beginDraining({ draining }: Machines, { id, templateHash, image, kubelet }: Member): number {
  const begun = draining[id] ??= { since: Date.now(), templateHash, image, kubelet };
  return begun.since;
}

async function release(rollout: Removing, task: Task, { id, node }: Member): Promise<void> {
  const { settings: { pool, durations }, loop } = rollout;
  const drainedSeconds = secondsSince(task.since);
  Object.assign(task, { step: "Removing", until: Date.now() + durations.gone, blockers: [] });
  noteStage(loop);
  await releaseAndSeeGone(pool, task, node);
  recordGone(rollout, id, drainedSeconds);
}

/**
 * Releases and waits in one activity, so that the history has one entry; a late release does not shorten the time to
 * delete.
 */
async function releaseAndSeeGone(pool: PoolRef, task: Task, node?: string): Promise<void> {
  const { subject: machine, until } = task;
  const late = await awaits.awaitVictimGone.executeWithOptions({
    summary: `Release ${machine} and wait until it is gone`,
  }, [
    { pool, machine, until, ...(node ? { node } : {}) },
  ]);
  if (!late) return;
  task.until += late.unseenMs;
  await seeGone(pool, task);
}

async function deleteIll(rollout: Removing, task: Task, { id, node, templateHash }: Member): Promise<void> {
  const { settings: { pool, durations }, target, machines } = rollout;
  const isOwn = templateHash === target.desired?.templateHash && !machines.repaired.includes(id);
  if (isOwn) noteRepaired(machines, id);
  task.until = Date.now() + durations.gone;
  await write.deleteMachine.executeWithOptions({ summary: `Replace unhealthy ${id}` }, [
    { pool, machine: id, drain: false, ...(node ? { node } : {}) },
  ]);
  task.until = Date.now() + durations.gone;
  await seeGone(pool, task);
  delete machines.draining[id];
}

async function seeGone(pool: PoolRef, { subject, until }: Task): Promise<void> {
  await awaits.awaitMachineGone.executeWithOptions({ summary: `Wait until ${subject} is gone` }, [
    { pool, machine: subject, until },
  ]);
}
