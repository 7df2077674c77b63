/** Reads the machines of a pool, and updates the state of the run with what has changed. */
import type { Desired, DesiredState, Member, PoolQuestion, PoolSnapshot, Rules } from "../contracts/mod.ts";
import { stillNews } from "../policy/in_place.ts";
import { supplierOf } from "../policy/supplier.ts";
import { machinesOf } from "../policy/turn.ts";
import { readBeside, spare } from "../proxies.ts";
import { dropOut, noteReplicas } from "../state/machines.ts";
import { recordGone } from "../state/results.ts";
import { addNews, type Part, type Seen, warn } from "../state/rollout.ts";
import { giveBackSlots } from "./slots.ts";

/** Returns the parameters with which this run reads the machines of its pool. */
export function questionOf(
  { settings, machines, people }: Seen<"settings" | "machines"> & Partial<Seen<"people">>,
  desired: Desired,
  rules: Rules,
): PoolQuestion {
  const most = machinesOf(rules.budget.machines, desired.replicas);
  return {
    pool: settings.pool,
    templateHash: desired.templateHash,
    unproven: [...Object.keys(machines.booting), ...machines.failed, ...Object.keys(machines.updating)],
    repair: rules.repair,
    ...(people && people.retriedAt > 0 && settings.pool.kind === "NodePool" ? { retriedAt: people.retriedAt } : {}),
    // Skipped machines can be the first of a list, and must not displace the machines that can be replaced.
    limit: Math.max(20, 2 * Math.min(most, supplierOf(settings.pool.kind).roomOf(desired) || most)) +
      (people?.skipped.length ?? 0),
  };
}

/**
 * Returns the parameters of the read in a reconcile. The parameters also name the machines that were skipped or set
 * aside, and those whose update failed, so that the snapshot shows which of them are gone.
 */
function lookQuestionOf(
  { people, ...rollout }: Seen<"settings" | "people" | "machines">,
  desired: Desired,
  rules: Rules,
): PoolQuestion {
  const out = Object.entries(rollout.machines.updating).flatMap(([id, { isOut }]) => isOut ? [id] : []);
  const named = [...people.skipped, ...out, ...rollout.machines.setAside];
  return { ...questionOf({ ...rollout, people }, desired, rules), ...(named.length > 0 ? { named } : {}) };
}

/**
 * Returns the parameters that the next read of the machines will have if the desired state stays the same; undefined
 * while the desired state is unknown or not observed by machine-controller.
 */
export function nextQuestionOf(
  { settings, people, machines, target: { desired, rules } }: Seen<"settings" | "people" | "machines" | "target">,
): PoolQuestion | undefined {
  if (!desired?.settled || !rules) return undefined;
  return lookQuestionOf({ settings, people, machines }, desired, rules);
}

/**
 * Reads the desired state and the machines in one activity. `look` then uses these machines, unless the new desired
 * state changes the parameters of their read.
 */
export async function readRound(
  { machines, tasks }: Part<"machines" | "tasks">,
  question: PoolQuestion,
): Promise<DesiredState> {
  const [summary, asked] = ["Read the desired state and the machines", JSON.stringify(question)];
  tasks.justEnded = [];
  const { seen, pool } = await readBeside(tasks).readRound.executeWithOptions({ summary }, [question]);
  if (pool) machines.glance = { asked, pool };
  return seen;
}

/** Reads the machines, records the changes since the last read, and gives back slots that are no longer needed. */
export async function see(
  rollout:
    & Seen<"settings" | "target">
    & Part<"people" | "machines" | "tasks" | "waves" | "slots" | "records" | "memory" | "view">,
  desired: Desired,
  rules: Rules,
): Promise<PoolSnapshot> {
  const pool = await look(rollout, desired, rules);
  forgetTaken(rollout, pool);
  noteLacks(rollout, pool);
  const missed = missedIn(pool, rollout);
  if (missed.length > 0) await noteMissed(rollout, missed);
  await giveBackSlots(rollout);
  return pool;
}

/** Milliseconds after the start of a task from which a condition that its machine waits for is reported. */
const usualMs = 30_000;

/** Emits one Event for each condition that a joining or leaving machine awaits, from 30 s after its task has begun. */
export function noteLacks({ tasks, view }: Part<"tasks" | "view">, { lacking = [] }: PoolSnapshot): void {
  for (const { machine, lacks } of lacking) {
    const task = Object.values(tasks.running).find(({ subject }) => subject === machine);
    // Only the part before the colon is compared, because the message after it may change while the machine waits.
    const [told = ""] = lacks.split(": ");
    if (!task || (task.step !== "Joining" && task.step !== "Removing") || task.told === told) continue;
    if (Date.now() - task.since < usualMs) continue;
    task.told = told;
    const verb = task.step === "Joining" ? "join" : "be deleted";
    addNews(view, {
      type: "Normal",
      reason: "MachineWaits",
      message: `Machine "${machine}" waits to ${verb}: ${lacks}`,
    });
  }
}

/**
 * Reads the machines, or uses those that were read with the desired state, and updates the state of machines, skips and
 * waves.
 */
async function look(
  { settings, people, machines, tasks, waves, view }:
    & Seen<"settings">
    & Part<"people" | "machines" | "tasks" | "waves" | "view">,
  desired: Desired,
  rules: Rules,
): Promise<PoolSnapshot> {
  const question = lookQuestionOf({ settings, people, machines }, desired, rules);
  const glance = glanceAt(machines, question);
  machines.glance = undefined;
  if (!glance) tasks.justEnded = [];
  const pool = glance ??
    await readBeside(tasks).readPool.executeWithOptions({ summary: "Read the machines" }, [question]);
  machines.lately = stillNews(machines.lately, pool, Date.now());
  machines.snapshot = pool;
  // A recorded read of version 0.1.0 may list fewer machines: its limit did not count the skipped ones.
  machines.failed = stillThere(machines.failed, pool, question.limit - people.skipped.length);
  const isOfAnother = ({ templateHash }: Member): boolean => templateHash !== desired.templateHash;
  dropOut(machines, (id, update) => update.templateHash !== desired.templateHash || isUnknown(pool, id));
  forgetGone(machines, pool);
  noteReplicas(machines, desired.replicas);
  dropUnknown({ people, view }, pool);
  waves.rolled ||= pool.counts.old > 0 || pool.leaving.some(isOfAnother);
  return pool;
}

/** Returns the snapshot that was read with the desired state, if it answers the question. */
function glanceAt({ glance }: Seen["machines"], question: PoolQuestion): PoolSnapshot | undefined {
  const isAnswered = glance?.asked === null ? question.named === undefined : glance?.asked === JSON.stringify(question);
  return isAnswered ? glance?.pool : undefined;
}

/**
 * Forgets machines that were set aside and have been deleted since, so that they no longer count as out of service or
 * as machines above the replicas.
 */
export function forgetGone(machines: Part<"machines">["machines"], pool: PoolSnapshot): void {
  machines.setAside = machines.setAside.filter((machine) => !isUnknown(pool, machine));
}

function isUnknown({ unknown = [] }: PoolSnapshot, machine: string): boolean {
  return unknown.includes(machine);
}

/**
 * Drops skipped machines that the read did not find in the pool, because the name was mistyped or the machine was
 * deleted. The snapshot names them in `unknown`; its other lists cannot show this, because they may lack machines.
 */
function dropUnknown({ people, view }: Part<"people" | "view">, { unknown = [] }: PoolSnapshot): void {
  const mistyped = people.skipped.filter((machine) => unknown.includes(machine));
  if (mistyped.length === 0) return;
  people.skipped = people.skipped.filter((machine) => !unknown.includes(machine));
  const names = mistyped.map((machine) => `"${machine}"`).join(", ");
  warn(view, "CommandIgnored", `Cannot skip ${names}: no such machine in this pool`);
}

/**
 * Returns the failed machines that may still exist: those that the snapshot lists as joining. Returns all failed ones
 * if the snapshot may lack updated machines, because a failed machine that is Ready is updated but in no list.
 */
function stillThere(failed: string[], { counts, waiting, joining }: PoolSnapshot, limit: number): string[] {
  const unlisted = counts.updated - counts.updatedReady - waiting.length - joining.length;
  if (unlisted > 0 || joining.length >= limit) return failed;
  return failed.filter((machine) => joining.some(({ id }) => id === machine));
}

/**
 * Forgets accepted etcd checks that are no longer reported: if the same check is inconclusive later, a person has to
 * accept it anew.
 */
function forgetTaken(
  { people, tasks: { running } }: Part<"people"> & Seen<"tasks">,
  { etcd }: PoolSnapshot,
): void {
  if (people.takenDoubts.length === 0) return;
  const told = [
    ...(etcd?.doubts ?? []).map(({ says }) => says),
    ...Object.values(running).flatMap(({ etcdDoubts = [] }) => etcdDoubts),
  ];
  const left = people.takenDoubts.filter((says) => told.includes(says));
  if (left.length < people.takenDoubts.length) people.takenDoubts = left;
}

/**
 * Returns the machines that were being drained and are no longer listed; empty if the snapshot does not list all
 * machines.
 */
function missedIn(
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
async function noteMissed(
  rollout: Seen<"settings" | "target"> & Part<"machines" | "records" | "memory">,
  missed: string[],
): Promise<void> {
  await Promise.all(missed.map((machine) => spare(rollout.settings.pool, machine)));
  for (const machine of missed) recordGone(rollout, machine);
}
