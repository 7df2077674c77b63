/** The join ladder: instance, address, node registered, node Ready; each rung with a deadline of its own. */
import type { JoinDeadlines } from "../contracts/mod.ts";

/** How long each rung may take from the start of the wait, in milliseconds. */
export type RungDurations = Record<keyof JoinDeadlines, number>;

/** Absolute deadlines for machines that begin to boot at `start` (epoch ms); a later rung never ends before an earlier one. */
export function joinDeadlines(start: number, durations: RungDurations): JoinDeadlines {
  const instance = start + durations.instance;
  const address = Math.max(instance, start + durations.address);
  const registered = Math.max(address, start + durations.registered);
  return { instance, address, registered, ready: Math.max(registered, start + durations.ready) };
}
