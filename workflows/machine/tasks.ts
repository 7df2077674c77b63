/** Work beside the main loop: one task per machine, each in a scope in which it can be called off. */
import { CancellationScope, condition, isCancellation } from "@temporalio/workflow";
import type { Joined, ReplacementRecord, Updating } from "../contracts/mod.ts";
import { type Loop, type Mishap, nudge } from "../state/loop.ts";
import type { Part } from "../state/rollout.ts";
import type { Task, Tasks } from "../state/tasks.ts";
import { troubleOf } from "../state/trouble.ts";
import { postpone } from "../state/machines.ts";
import { noteUsual } from "../state/memory.ts";
import { addJoin, addReplacement } from "../state/records.ts";

/** The scopes of tasks; they are no state: a continued run begins its tasks anew. */
const scopes = new WeakMap<Task, CancellationScope>();

/** Begins a task unless it is under way; its end wakes the main loop. */
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
      if (!isOn(tasks, task)) return; // whoever called it off knows
      delete tasks.running[key];
      // A mishap wakes by itself: as news too it would end the very halt that it is told with.
      if (noted === "Nothing") nudge(loop);
    });
}

// In an outage that is later, and costs its machine no time.
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

/** Calls off all tasks that `fits` names. */
export function callOff({ running }: Tasks, fits: (task: Task) => boolean): void {
  for (const [key, task] of Object.entries(running)) {
    if (!fits(task)) continue;
    scopes.get(task)?.cancel();
    delete running[key];
  }
}

/** Calls off updates in place whose boot was not ordered yet: their machines serve on, and are uncordoned by the next plan. */
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

// A bug must end the round, not the process: the main loop throws it again.
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

// Work that is called off as soon as nobody waits for its answer any more.

/** Gives what the work gives; undefined when it was over before, and then nothing of it is left running. */
export async function unlessOver<T>(isOver: () => boolean, work: () => Promise<T>): Promise<T | undefined> {
  const scope = new CancellationScope();
  const answer = scope.run(work);
  const over = scope.run(() => condition(isOver));
  try {
    return await Promise.race([answer, over.then(() => undefined)]);
  } finally {
    scope.cancel(); // neither is left waiting
    await answer.catch(() => undefined);
  }
}

// Orders about a machine whose time runs: an outage that holds one up costs it nothing. Whoever gives one catches for itself:
// a function around both would take a turn of its own, and what ends together would end in another order than recorded.

/** One that takes longer (ms) was tried again and again. */
const promptMs = 5_000;

/** Gives back the time since `begun` (epoch ms) in which an order could not get through, or got through late. */
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

/** The same where order and wait are one step, which nobody could take: that is no time of its machine's. */
export function giveBackOutage(
  rollout: Part<"machines">,
  task: Task,
  { begun, error }: { begun: number; error: unknown },
): void {
  if (troubleOf(error).kind === "unreachable") giveBackTime(rollout, task, { begun, error });
}

// Notes what became of a machine: for the query and the result, and for what is usual in this pool.

/** It joined and passed its gates: when it began to boot is forgotten. */
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

/** It went, after `seconds` in all. */
export function recordReplacement(
  { records, memory }: Part<"records" | "memory">,
  replacement: ReplacementRecord,
  seconds: number,
): void {
  addReplacement(records, replacement);
  noteUsual(memory, "leave", seconds);
}
