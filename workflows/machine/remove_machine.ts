/**
 * Removes one machine: drains it according to the policy, releases it, and waits until it is gone. Also replaces an
 * unhealthy machine.
 */
import type { Member, PoolRef } from "../contracts/mod.ts";
import { awaits, write } from "../proxies.ts";
import { startClock } from "../state/clock.ts";
import { ensureDraining } from "../state/machines.ts";
import type { RemovalOutcome, RepairOutcome } from "../state/outcomes.ts";
import { secondsSince } from "../state/results.ts";
import { tell } from "../state/rollout.ts";
import type { Task } from "../state/tasks.ts";
import { troubleOf } from "../state/trouble.ts";
import { drain, drainEnd } from "./drain.ts";
import { needsRelief, relieve } from "./relieve.ts";
import type { Job, Work, Worked } from "./work.ts";

/** Prepares a task that drains a leaving machine, releases it, and waits until it is gone. */
export function prepareRemoval(worked: Worked, victim: Member): Job {
  return { task: removalTask(worked, victim), run: (work) => remove(work, victim) };
}

async function remove(work: Work, victim: Member): Promise<RemovalOutcome> {
  if (needsRelief(work)) await relieve(work, victim);
  if (await drain(work, victim.node) === "SetAside") return { is: "Unchanged" };
  return await release(work, victim);
}

/** Prepares a task that deletes an unhealthy machine; the owner of the machines then creates another one. */
export function prepareRepair(worked: Worked, ill: Member): Job {
  const task: Task = { ...removalTask(worked, ill), kind: "repair", step: "Repairing" };
  tell(worked.view, "RepairStarted", `Replacing machine "${ill.id}": ${ill.ill?.why ?? "unhealthy"}`);
  return { task, run: (work) => repair(work, ill) };
}

async function repair(work: Work, ill: Member): Promise<RepairOutcome> {
  // The machine may have recovered while an etcd check was inconclusive.
  if (needsRelief(work) && await relieveIll(work, ill) === "Well") return { is: "Unchanged" };
  // A node that is not Ready cannot be drained, because its kubelet does not respond; other unhealthy nodes can.
  const isDead = ill.phase === "NotReady";
  if (!isDead && await drain(work, ill.node) === "SetAside") return { is: "Unchanged" };
  return await deleteIll(work, ill);
}

async function relieveIll(work: Work, { id, ...ill }: Member): Promise<"Well" | "Ill"> {
  await relieve(work, { id, ...ill });
  const { snapshot } = work.machines;
  return snapshot && !snapshot.ill.some((each) => each.id === id) ? "Well" : "Ill";
}

function removalTask({ settings, target, ...timed }: Worked, victim: Member): Task {
  const { id, node, templateHash } = victim;
  startClock(timed, id);
  const { since } = ensureDraining(timed.machines, victim);
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

async function release(work: Work, { node }: Member): Promise<RemovalOutcome> {
  const { settings: { pool, durations }, task, note } = work;
  const drainedSeconds = secondsSince(task.since);
  note({ is: "Stepped", step: "Removing", until: Date.now() + durations.gone });
  await releaseAndSeeGone(pool, task, node);
  return { is: "Removed", drainedSeconds };
}

/**
 * Releases the machine and waits until it is gone, in one activity, so that the history has one entry. If the release
 * was late, the deadline is extended by the delay.
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

async function deleteIll(
  { settings: { pool, durations }, task, note }: Work,
  { id, node, phase }: Member,
): Promise<RepairOutcome> {
  note({ is: "RepairOrdered" });
  task.until = Date.now() + durations.gone;
  try {
    await write.deleteMachine.executeWithOptions({ summary: `Replace unhealthy ${id}` }, [
      // `ifNotReady` keeps a machine that has become Ready again. It is set only for a machine that was NotReady,
      // because a machine that is replaced for another condition may be Ready all the time.
      {
        pool,
        machine: id,
        drain: false,
        ...(node ? { node } : {}),
        ...(phase === "NotReady" ? { ifNotReady: true } : {}),
      },
    ]);
  } catch (error) {
    // The machine recovered before it was deleted, so it stays.
    if (troubleOf(error).kind === "replan") note({ is: "RepairDropped" });
    throw error;
  }
  task.until = Date.now() + durations.gone;
  await seeGone(pool, task);
  return { is: "Repaired" };
}

async function seeGone(pool: PoolRef, { subject, until }: Task): Promise<void> {
  await awaits.awaitMachineGone.executeWithOptions({ summary: `Wait until ${subject} is gone` }, [
    { pool, machine: subject, until },
  ]);
}
