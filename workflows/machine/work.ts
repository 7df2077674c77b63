/** Runs tasks beside the main loop: one per machine, each in a scope that can be cancelled. */
import { CancellationScope, condition, isCancellation } from "@temporalio/workflow";
import { type Applied, apply } from "../state/apply.ts";
import { type Loop, type Mishap, nudge } from "../state/loop.ts";
import type { Outcome, TaskEvent } from "../state/outcomes.ts";
import type { Part, Seen } from "../state/rollout.ts";
import { addTask, endTask, isOn, type Task } from "../state/tasks.ts";
import { troubleOf } from "../state/trouble.ts";

/** The parts of the state that a task reads. */
type Read = Seen<"settings" | "target" | "people" | "waves" | "machines" | "memory">;

/** The parameters of a task: the state to read, the record of the task, and `note`, which reports the task's events. */
export interface Work extends Read {
  readonly task: Task;
  readonly note: (event: TaskEvent) => void;
}

/** The parts of the state that tasks read, and the parts that the events and outcomes of tasks change. */
export type Worked = Read & Applied;

/** The record of a task, and its work, which ends with an outcome. */
export interface Job {
  readonly task: Task;
  readonly run: (work: Work) => Promise<Outcome>;
}

/**
 * Begins a task, unless `job` is undefined or the same task is running. Applies the task's events and outcome to the
 * state, and wakes the main loop when the task ends.
 */
export function begin(rollout: Worked, job: Job | undefined): void {
  if (!job) return;
  const { task, run } = job;
  const { tasks, loop } = rollout;
  const scope = addTask(tasks, task);
  if (!scope) return;
  // The events of a cancelled task are not needed any more.
  const note = (event: TaskEvent | Outcome): void => {
    if (isOn(tasks, task)) apply(rollout, task, event);
  };
  const work: Work = { ...rollout, task, note };
  // The task ends in the same step that applies its outcome, because a reconcile in between would see only one of the
  // two. A cancelled task does not wake the main loop, because the caller that cancelled it continues anyway. A failure
  // wakes the loop only through `mishaps`, because `nudge` would end the halt that reports the failure.
  const finish = (end: "Done" | "Undone" | "Mishap"): void => {
    if (endTask(tasks, task, end === "Done") === "Ended" && end !== "Mishap") nudge(loop);
  };
  const untilDone = async (): Promise<void> => {
    note(await (tasks.areHeld ? onceTold(tasks, work, run) : run(work)));
    finish("Done");
  };
  void scope.run(untilDone).catch((error: unknown) => finish(noteFailure({ tasks, loop }, task, error)));
}

// Begins the work once the run has reported the task on the Rollout. If an outage delays the report, the delay does not
// count against the machine's deadlines.
async function onceTold(
  tasks: Seen["tasks"],
  work: Work,
  run: (work: Work) => Promise<Outcome>,
): Promise<Outcome> {
  const begun = Date.now();
  await condition(() => !tasks.areHeld);
  giveBackTime(work, { begun });
  return await run(work);
}

// Records the failure of a task. The main loop throws an internal error again, so that the error ends the reconcile and
// not the process.
function noteFailure({ tasks, loop }: Part<"tasks" | "loop">, task: Task, error: unknown): "Mishap" | "Undone" {
  if (isCancellation(error)) return "Undone";
  const trouble = troubleOf(error);
  if (trouble.kind === "rethrow") noteBug(loop, error);
  if (!isOn(tasks, task)) return "Undone";
  if (trouble.kind !== "halt" && trouble.kind !== "unreachable") return "Undone";
  const { kind, message } = trouble;
  const mishap: Mishap = { kind, message, reason: kind === "halt" ? trouble.reason : "Unreachable" };
  loop.mishaps.push(mishap);
  return "Mishap";
}

function noteBug(loop: Loop, error: unknown): void {
  loop.thrown = error;
  nudge(loop);
}

// Runs work that is cancelled as soon as its result is no longer needed.

/**
 * Returns the result of the work. Once `isOver` returns true, cancels the work, waits until it has ended, and returns
 * undefined.
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

// Extends deadlines: an outage that delays an order to a machine must not shorten the time that the machine has.
// Callers catch errors themselves, because a wrapper function around their orders would change the sequence of events
// in recorded histories.

/** An order that takes longer than this (ms) counts as delayed. */
const promptMs = 5_000;

/**
 * Extends the machine's deadlines by the time since `begun` (epoch ms), if an order was late or, with `error`, could
 * not be delivered because of an outage.
 */
export function giveBackTime({ note }: Work, { begun, error }: { begun: number; error?: unknown }): void {
  const ms = Date.now() - begun;
  const isHeldUp = error !== undefined && troubleOf(error).kind === "unreachable";
  if (isHeldUp || ms >= promptMs) note({ is: "Delayed", ms });
}

/**
 * Extends the machine's deadlines by the duration of a failed activity that gives an order and then waits, if no worker
 * process took the activity or the API was unavailable.
 */
export function giveBackOutage(work: Work, { begun, error }: { begun: number; error: unknown }): void {
  if (troubleOf(error).kind === "unreachable") giveBackTime(work, { begun, error });
}
