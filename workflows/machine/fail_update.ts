/**
 * Records the failure of an image on a machine: the image is not tried there again without a retry, and too many
 * failures stop the pool.
 */
import type { PoolRef, UpdateFailureType } from "../contracts/mod.ts";
import { updates } from "../proxies.ts";
import { noteLately } from "../state/machines.ts";
import { type Part, type Seen, warn } from "../state/rollout.ts";
import type { Task } from "../state/tasks.ts";
import { giveUp } from "../state/quarantine.ts";

/** The groups that an update in place changes. */
export type Updated =
  & Seen<"settings" | "target" | "people">
  & Part<"waves" | "machines" | "tasks" | "records" | "memory" | "loop" | "view">;

/** A failed update: `reason` is stable, `message` is for people. */
export interface UpdateFailure {
  image: string;
  reason: UpdateFailureType;
  message: string;
}

/** Records the failure on the machine and counts it; at `maxFailed` failures, no further machine begins the update. */
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
  // The failure says nothing about the current desired state.
  if (templateHash !== target.desired?.templateHash) return;
  machines.failures += 1;
  if (machines.failures >= (target.rules?.maxFailed ?? 1)) {
    giveUp(rollout, { reason, message: `Machine "${machine}": ${message}` });
  }
}

/** Records the failure only on the machine. */
export async function remember(
  pool: PoolRef,
  machine: string,
  failure: { image: string; reason: string; at: number; isReplaceable?: true },
): Promise<void> {
  const summary = `Record that ${failure.image.slice(-12)} failed on ${machine}`;
  await updates.ensureImageFailed.executeWithOptions({ summary }, [{ pool, machine, ...failure }]);
}
