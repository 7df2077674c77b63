/** Runs the work beside the main loop: one task per machine, each in a scope that can be cancelled. */
import { CancellationScope, condition, isCancellation } from "@temporalio/workflow";
import type { Joined, ReplacementRecord, Updating } from "../contracts/mod.ts";
import { type Loop, type Mishap, nudge } from "../state/loop.ts";
import type { Part } from "../state/rollout.ts";
import type { Task, Tasks } from "../state/tasks.ts";
import { troubleOf } from "../state/trouble.ts";
import { postpone } from "../state/machines.ts";
import { noteUsual } from "../state/memory.ts";
import { addJoin, addReplacement } from "../state/records.ts";

/** The scopes of tasks are not state: a continued run begins its tasks again. */
const scopes = new WeakMap<Task, CancellationScope>();

/** Begins a task unless it is running; its end wakes the main loop. */
export function begin(rollout: Part<"tasks" | "loop" | "machines">, task: Task, work: () => Promise<void>): void {
  const { tasks, loop } = rollout;
  const key = keyOf(task);
  if (tasks.running[key]) return;
  tasks.running[key] = task;
  const scope = new CancellationScope();
  scopes.set(task, scope);
  let noted: "Mishap" | "Nothing" = "Nothing";
  void scope.run(tasks.areHeld ? (): Promise<void> => onceTold(rollout, task, work) : work)
    .catch((error: unknown) => void (noted = noteFailure({ tasks, loop }, task, error)))
    .finally(() => {
      tasks.justEnded.push(task.subject);
      if (!isOn(tasks, task)) return; // the caller of the cancellation knows
      delete tasks.running[key];
      // A failure wakes the main loop by itself; as an event too, it would end the halt that reports it.
      if (noted === "Nothing") nudge(loop);
    });
}

// In an outage the report is late, and the delay costs the machine no time.
async function onceTold(
  rollout: Part<"tasks" | "machines">,
  task: Task,
  work: () => Promise<void>,
): Promise<void> {
  const begun = Date.now();
  await condition(() => !rollout.tasks.areHeld);
  giveBackTime(rollout, task, { begun });
  await work();
}

/** Cancels all tasks that match `fits`. */
export function callOff({ running }: Tasks, fits: (task: Task) => boolean): void {
  for (const [key, task] of Object.entries(running)) {
    if (!fits(task)) continue;
    scopes.get(task)?.cancel();
    delete running[key];
  }
}

/**
 * Cancels updates in place without an ordered reboot: their machines stay in service, and the next plan uncordons them.
 */
export function callOffUpdates(
  { machines, tasks }: Part<"machines" | "tasks">,
  fits: (update: Pick<Updating, "templateHash">) => boolean,
): void {
  const isOrdered = ({ boot, isOrdering, replacing }: Updating): boolean =>
    boot !== undefined || isOrdering === true || replacing?.isOrdered === true;
  const dropped = Object.entries(machines.updating).filter(([, each]) => !isOrdered(each) && fits(each))
    .map(([id]) => id);
  callOff(tasks, ({ kind, subject }) => kind === "update" && dropped.includes(subject));
  machines.updating = Object.fromEntries(Object.entries(machines.updating).filter(([id]) => !dropped.includes(id)));
}

// An internal error must end the reconcile, not the process: the main loop throws it again.
function noteFailure({ tasks, loop }: Part<"tasks" | "loop">, task: Task, error: unknown): "Mishap" | "Nothing" {
  if (isCancellation(error)) return "Nothing";
  const trouble = troubleOf(error);
  if (trouble.kind === "rethrow") noteBug(loop, error);
  if (!isOn(tasks, task)) return "Nothing";
  if (trouble.kind !== "halt" && trouble.kind !== "unreachable") return "Nothing";
  const { kind, message } = trouble;
  const mishap: Mishap = { kind, message, reason: kind === "halt" ? trouble.reason : "Unreachable" };
  loop.mishaps.push(mishap);
  return "Mishap";
}

function noteBug(loop: Loop, error: unknown): void {
  loop.thrown = error;
  nudge(loop);
}

function isOn({ running }: Readonly<Tasks>, task: Task): boolean {
  return running[keyOf(task)] === task;
}

function keyOf({ kind, subject }: Task): string {
  return `${kind} ${subject}`;
}

// Runs work that is cancelled as soon as its result is no longer needed.

/**
 * Returns the result of the work; undefined if it was no longer needed before, and then none of the work is still
 * running.
 */
export async function unlessOver<T>(isOver: () => boolean, work: () => Promise<T>): Promise<T | undefined> {
  const scope = new CancellationScope();
  const answer = scope.run(work);
  const over = scope.run(() => condition(isOver));
  try {
    return await Promise.race([answer, over.then(() => undefined)]);
  } finally {
    scope.cancel(); // ends both waits
    await answer.catch(() => undefined);
  }
}

// Extends times for orders to a machine: an outage that delays an order costs the machine no time. The caller catches
// errors itself, as a function around both would change the order of events in recorded histories.

/** An order that takes longer (ms) was retried. */
const promptMs = 5_000;

/** Gives back the time since `begun` (epoch ms) in which an order could not be delivered, or was delivered late. */
export function giveBackTime(
  { machines }: Part<"machines">,
  task: Task,
  { begun, error }: { begun: number; error?: unknown },
): void {
  const ms = Date.now() - begun;
  const isHeldUp = error !== undefined && troubleOf(error).kind === "unreachable";
  if (!isHeldUp && ms < promptMs) return;
  postpone(machines, task.subject, ms);
  task.since += ms;
  task.until += ms;
}

/** Does the same for an order and its wait in one activity that no worker could take. */
export function giveBackOutage(
  rollout: Part<"machines">,
  task: Task,
  { begun, error }: { begun: number; error: unknown },
): void {
  if (troubleOf(error).kind === "unreachable") giveBackTime(rollout, task, { begun, error });
}

// Records the result for a machine, for the query, the result and the typical durations of this pool.

/** Records a machine that joined and passed its gates, and forgets when it began to boot. */
export function recordJoin(
  { machines: { booting }, records, memory }: Part<"machines" | "records" | "memory">,
  { readyAt, ...join }: Joined,
): void {
  const started = booting[join.machine]?.since ?? readyAt;
  delete booting[join.machine];
  const joinedSeconds = Math.max(0, Math.round((readyAt - started) / 100) / 10);
  addJoin(records, { ...join, joinedSeconds });
  noteUsual(memory, "join", joinedSeconds);
}

/** Records a machine that was replaced within `seconds` in all. */
export function recordReplacement(
  { records, memory }: Part<"records" | "memory">,
  replacement: ReplacementRecord,
  seconds: number,
): void {
  addReplacement(records, replacement);
  noteUsual(memory, "leave", seconds);
}
