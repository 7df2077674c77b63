/** The tasks that run beside the main loop, each in a scope that can be cancelled. */
import { CancellationScope } from "@temporalio/workflow";
import type { Blocker, Underway } from "../contracts/mod.ts";

/** A task for one machine, or the gates of a wave; times in epoch ms. */
export interface Task {
  kind: "join" | "leave" | "repair" | "gates" | "stage" | "update";
  /** The machine, or "wave 1". */
  subject: string;
  node?: string;
  /** The machine that the subject replaces. */
  victim?: string;
  templateHash: string;
  step: Underway["step"];
  since: number;
  until: number;
  attempt: number;
  blockers: Blocker[];
  /** Why the gates are inconclusive; empty once they have a result, or a person has sent promote or retry. */
  doubt: string;
  /** The condition for which the machine waits, as the last Event reported it. */
  told?: string;
  /** For a control plane to be removed: the inconclusive etcd checks, until they pass or a person sends promote. */
  etcdDoubts?: string[];
}

export interface Tasks {
  /** The running tasks; each key consists of the kind and the subject. */
  running: Record<string, Task>;
  /** Subjects whose tasks ended after the last read of the machines began, so that the read may not show the result. */
  justEnded: string[];
  /** Whether new tasks wait before their first step, because they have not been reported yet. */
  areHeld: boolean;
  /** For each subject with unfinished work: since when no task works on it (epoch ms). */
  idle: Record<string, number>;
}

/** Returns the state without tasks; a continued run begins its tasks again. */
export function openTasks(): Tasks {
  return { running: {}, justEnded: [], areHeld: false, idle: {} };
}

/** The scopes of tasks are not state: a continued run begins its tasks again. */
const scopes = new WeakMap<Task, CancellationScope>();

/** Adds a task; returns the scope for its work, or undefined if the task is already running. */
export function addTask({ running }: Tasks, task: Task): CancellationScope | undefined {
  const key = keyOf(task);
  if (running[key]) return undefined;
  running[key] = task;
  const scope = new CancellationScope();
  scopes.set(task, scope);
  return scope;
}

/**
 * Removes a task that has ended. If its work is not done, records since when no task works on its subject. Returns
 * CalledOff if the task was cancelled and removed before.
 */
export function endTask(tasks: Tasks, task: Task, isDone: boolean): "Ended" | "CalledOff" {
  tasks.justEnded.push(task.subject);
  if (!isOn(tasks, task)) return "CalledOff";
  delete tasks.running[keyOf(task)];
  if (!isDone) tasks.idle[task.subject] = Date.now();
  return "Ended";
}

/** Cancels all tasks that match `fits`. */
export function callOff({ running, idle }: Tasks, fits: (task: Task) => boolean): void {
  for (const [key, task] of Object.entries(running)) {
    if (!fits(task)) continue;
    scopes.get(task)?.cancel();
    delete running[key];
    idle[task.subject] = Date.now();
  }
}

/** Returns whether a task is running and was not called off. */
export function isOn({ running }: Readonly<Tasks>, task: Task): boolean {
  return running[keyOf(task)] === task;
}

function keyOf({ kind, subject }: Task): string {
  return `${kind} ${subject}`;
}

/** Returns the subjects of the running tasks of one kind. */
export function busyWith({ running }: Readonly<Tasks>, kind: Task["kind"]): string[] {
  return Object.values(running).filter((task) => task.kind === kind).map(({ subject }) => subject);
}

/** Returns whether no task is running. */
export function isIdle({ running }: Readonly<Tasks>): boolean {
  return Object.keys(running).length === 0;
}
