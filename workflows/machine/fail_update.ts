/**
 * Records the failure of an image on a machine: only a `retry` command updates the machine to that image again, and too
 * many failures stop the pool.
 */
import type { PoolRef, UpdateFailureType } from "../contracts/mod.ts";
import { updates } from "../proxies.ts";
import type { Work } from "./work.ts";

/**
 * A failed update: `reason` is the reason of the Event, and of the halt if too many updates fail; `message` is for
 * people.
 */
interface UpdateFailure {
  image: string;
  reason: UpdateFailureType;
  message: string;
}

/** Records the failure on the machine and counts it; at `maxFailed` failures, no further machine begins the update. */
export async function failUpdate(
  { settings: { pool }, task: { subject: machine }, note }: Work,
  { image, reason, message }: UpdateFailure,
): Promise<void> {
  const at = Date.now();
  await remember(pool, machine, { image, reason, at });
  note({ is: "UpdateFailed", reason, message: `Machine "${machine}": ${message}`, at });
}

/** Records the failure on the machine, without counting it. */
export async function remember(
  pool: PoolRef,
  machine: string,
  failure: { image: string; reason: string; at: number; isReplaceable?: true },
): Promise<void> {
  const summary = `Record that image ${failure.image.slice(-12)} failed on ${machine}`;
  await updates.ensureImageFailed.executeWithOptions({ summary }, [{ pool, machine, ...failure }]);
}
