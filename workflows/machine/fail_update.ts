/** An image failed on a machine: it is not tried there again unasked, and too many failures stop the pool. */
import type { PoolRef, UpdateFailureType } from "../contracts/mod.ts";
import { updates } from "../proxies.ts";
import { noteLately } from "../state/machines.ts";
import { type Part, type Seen, warn } from "../state/rollout.ts";
import type { Task } from "../state/tasks.ts";
import { giveUp } from "./quarantine.ts";

/** What updating a machine in place touches. */
export type Updated =
  & Seen<"settings" | "target" | "people">
  & Part<"waves" | "machines" | "tasks" | "records" | "memory" | "loop" | "view">;

/** What went wrong: `reason` is stable, `message` in words. */
export interface UpdateFailure {
  image: string;
  reason: UpdateFailureType;
  message: string;
}

/** Remembers it on the machine and counts it; with as many as may not be, nothing more of the image is begun. */
export async function failUpdate(
  rollout: Updated,
  task: Task,
  { image, reason, message }: UpdateFailure,
): Promise<void> {
  const { settings: { pool }, target, machines, view } = rollout;
  const { subject: machine, templateHash } = task;
  const at = Date.now();
  await remember(pool, machine, { image, reason, at });
  noteLately(machines, machine, { is: "Failed", templateHash, at });
  warn(view, reason, `Machine "${machine}": ${message}`);
  // It says nothing about what is desired by now.
  if (templateHash !== target.desired?.templateHash) return;
  machines.failures += 1;
  if (machines.failures >= (target.rules?.maxFailed ?? 1)) {
    giveUp(rollout, { reason, message: `Machine "${machine}": ${message}` });
  }
}

/** Remembers it on the machine alone. */
export async function remember(
  pool: PoolRef,
  machine: string,
  failure: { image: string; reason: string; at: number; isReplaceable?: true },
): Promise<void> {
  const summary = `Record that ${failure.image.slice(-12)} failed on ${machine}`;
  await updates.ensureImageFailed.executeWithOptions({ summary }, [{ pool, machine, ...failure }]);
}
