/** Work beside the main loop: one task per machine, each in a scope in which it can be called off. */
import { CancellationScope, condition, isCancellation } from "@temporalio/workflow";
import type { Updating } from "../contracts/mod.ts";
import { nudge } from "../state/loop.ts";
import type { Loop, Mishap } from "../state/loop.ts";
import type { Part } from "../state/rollout.ts";
import type { Task, Tasks } from "../state/tasks.ts";
import { giveBackTime } from "./order_in_time.ts";
import { troubleOf } from "../steps/trouble.ts";

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
