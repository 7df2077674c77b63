/**
 * Orders about a machine whose time runs: an outage that holds one up costs it nothing. Whoever gives one catches for itself:
 * a function around both would take a turn of its own, and what ends together would end in another order than recorded.
 */
import { postpone } from "../state/machines.ts";
import type { Part } from "../state/rollout.ts";
import type { Task } from "../state/tasks.ts";
import { troubleOf } from "../steps/trouble.ts";

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
