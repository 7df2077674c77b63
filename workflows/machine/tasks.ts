/** What is under way beside the main loop: one task per machine, each in a scope in which it can be called off. */
import { CancellationScope, isCancellation } from "@temporalio/workflow";
import type { Rollout, Task } from "../state/rollout.ts";
import { troubleOf } from "../steps/trouble.ts";

/** The scopes of tasks; they are no state: a continued run begins its tasks anew. */
const scopes = new WeakMap<Task, CancellationScope>();

/** Begins a task unless it is under way; its end wakes the main loop. */
export function begin(rollout: Rollout, task: Task, work: (task: Task) => Promise<void>): void {
  const key = keyOf(task);
  if (rollout.tasks[key]) return;
  rollout.tasks[key] = task;
  const scope = new CancellationScope();
  scopes.set(task, scope);
  let isMishap = false;
  void scope.run(() => work(task))
    .catch((error: unknown) => void (isMishap = note(rollout, task, error)))
    .finally(() => {
      rollout.justEnded.push(task.subject);
      if (!isOn(rollout, task)) return; // whoever called it off knows
      delete rollout.tasks[key];
      // A mishap wakes by itself: as news too it would end the very halt that it is told with.
      if (!isMishap) rollout.nudged = true;
    });
}

/** Calls off all tasks that `fits` names. */
export function callOff(rollout: Rollout, fits: (task: Task) => boolean): void {
  for (const [key, task] of Object.entries(rollout.tasks)) {
    if (!fits(task)) continue;
    scopes.get(task)?.cancel();
    delete rollout.tasks[key];
  }
}

/** Tasks of one kind, as the names of what they are about. */
export function busyWith(rollout: Rollout, kind: Task["kind"]): string[] {
  return Object.values(rollout.tasks).filter((task) => task.kind === kind).map(({ subject }) => subject);
}

// A bug must stop the workflow task, not the process: the main loop throws it again. True for what the loop has to tell.
function note(rollout: Rollout, task: Task, error: unknown): boolean {
  if (isCancellation(error)) return false;
  const trouble = troubleOf(error);
  if (trouble.kind === "rethrow") Object.assign(rollout, { bug: error, nudged: true });
  if (!isOn(rollout, task)) return false;
  const before = rollout.mishaps.length;
  if (trouble.kind === "halt") rollout.mishaps.push({ ...trouble, kind: "halt" });
  if (trouble.kind === "unreachable") rollout.mishaps.push({ ...trouble, kind: "unreachable", reason: "Unreachable" });
  return rollout.mishaps.length > before;
}

/** Something was said, a task has ended, or one has stopped with what has to be told. */
export function isWoken({ nudged, mishaps }: Rollout): boolean {
  return nudged || mishaps.length > 0;
}

function isOn(rollout: Rollout, task: Task): boolean {
  return rollout.tasks[keyOf(task)] === task;
}

function keyOf({ kind, subject }: Task): string {
  return `${kind} ${subject}`;
}
