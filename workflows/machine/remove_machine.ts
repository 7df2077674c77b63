/**
 * Removes one machine: drains it by the rules, releases it, and waits until it is gone; an unhealthy machine is
 * replaced.
 */
import type { Member, PoolRef, PoolSnapshot, WriteActivities } from "../contracts/mod.ts";
import { awaits, write } from "../proxies.ts";
import type { Either } from "../proxies.ts";
import { noteStage } from "../state/loop.ts";
import { noteRepaired } from "../state/machines.ts";
import type { Machines } from "../state/machines.ts";
import { type Part, type Seen, tell } from "../state/rollout.ts";
import type { Task } from "../state/tasks.ts";
import { drain, drainEnd } from "./drain.ts";
import { begin, recordReplacement } from "./tasks.ts";
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

/**
 * Removes mark, hold and cordon of a machine that stays; a machine that is being deleted keeps its hold unless `letGo`.
 */
export async function spare(
  pool: PoolRef,
  machine: string,
  { letGo = false, by = write }: { letGo?: boolean; by?: Sparer } = {},
): Promise<void> {
  const summary = `Uncordon and unmark ${machine}`;
  await by.ensureVictimUnmarked.executeWithOptions({ summary }, [{ pool, machine, letGo }]);
}

/** The activities that unmark machines: normal ones beside others, or local ones while no task is running. */
export type Sparer = Pick<Either<WriteActivities>, "ensureVictimUnmarked">;

/** Returns machines that were drained and are no longer listed. */
export function missedIn(
  { leaving, old, ill, counts }: PoolSnapshot,
  { machines, tasks }: Seen<"machines" | "tasks">,
): string[] {
  const lists = [[counts.leaving, leaving], [counts.old, old], [counts.ill, ill]] as const;
  if (lists.some(([number, listed]) => number > listed.length)) return []; // not all machines are named
  const seen = [...leaving, ...old, ...ill].map(({ id }) => id);
  const there = new Set([...seen, ...Object.values(tasks.running).map(({ subject }) => subject)]);
  return Object.keys(machines.draining).filter((machine) => !there.has(machine));
}

/**
 * Records that these machines were deleted between two runs, or recovered; the cordon of a recovered machine is
 * removed.
 */
export async function noteMissed(
  rollout: Seen<"settings" | "target"> & Part<"machines" | "records" | "memory">,
  missed: string[],
): Promise<void> {
  await Promise.all(missed.map((machine) => spare(rollout.settings.pool, machine)));
  for (const machine of missed) recordGone(rollout, machine);
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

function recordGone(
  { target, machines, records, memory }: Seen<"target"> & Part<"machines" | "records" | "memory">,
  machine: string,
  drained?: number,
): void {
  const drain = machines.draining[machine];
  delete machines.draining[machine];
  if (!drain || drain.templateHash === target.desired?.templateHash) return; // scaled down or repaired, not replaced
  const { image, kubelet, since } = drain;
  const seconds = secondsSince(since);
  const replacedBy = records.joins.at(-1)?.machine ?? "";
  const replacement = { machine, replacedBy, image, kubelet, drainedSeconds: drained ?? seconds };
  recordReplacement({ records, memory }, replacement, seconds);
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

function secondsSince(start: number): number {
  return Math.round((Date.now() - start) / 100) / 10;
}
