/**
 * Moves the deadlines of machines, and of a wave's gates, later by the time that must not count. That is the time in
 * which no task worked on them, because of an outage, a denial, an internal error or a halt, and the time that a task
 * reports as delayed.
 */
import type { Part } from "./rollout.ts";
import { waveName } from "./waves.ts";

type Timed = Part<"machines" | "waves">;

/** Moves the start times, and so the deadlines, of a machine or of the gates of a wave later by `ms`. */
export function delay(timed: Timed, subject: string, ms: number): void {
  extend(timed, subject, () => ms);
}

/**
 * For each machine in progress, and for the gates of the current wave, records that no task has worked on them since
 * `at` (epoch ms). Skips those on which a task works, and keeps an earlier recorded time.
 */
export function stopClocks({ machines, waves, tasks }: Timed & Part<"tasks">, at: number): void {
  const { booting, draining, updating } = machines;
  const busy = Object.values(tasks.running).map(({ subject }) => subject);
  const all = [...Object.keys({ ...booting, ...draining, ...updating }), waveName(waves.current.index)];
  for (const subject of all) if (!busy.includes(subject)) tasks.idle[subject] ??= at;
}

/**
 * Ends the idle time of a machine, or of the gates of a wave: moves their deadlines later by the time in which no task
 * worked on them.
 */
export function startClock({ tasks, ...timed }: Timed & Part<"tasks">, subject: string): void {
  const idle = tasks.idle[subject];
  delete tasks.idle[subject];
  if (idle === undefined) return;
  const now = Date.now();
  // If the step began again during the idle time, such as after a retry, only the time since then extends the
  // deadlines.
  extend(timed, subject, (since) => Math.max(0, now - Math.max(idle, since)));
}

/**
 * Ends all idle times before another run takes over, because the next run does not get the times at which they began.
 */
export function startClocks(timed: Timed & Part<"tasks">): void {
  for (const subject of Object.keys(timed.tasks.idle)) startClock(timed, subject);
}

/**
 * Moves each start time of the subject later by the milliseconds that `msOf` returns for that time. Moves the deadline
 * of an update's boot later by the milliseconds for the start of the update.
 */
function extend({ machines, waves }: Timed, subject: string, msOf: (since: number) => number): void {
  const [boot, drain, update] = [machines.booting[subject], machines.draining[subject], machines.updating[subject]];
  if (boot) boot.since += msOf(boot.since);
  if (drain) drain.since += msOf(drain.since);
  if (update?.drainSince !== undefined) update.drainSince += msOf(update.drainSince);
  if (update?.boot) update.boot.until += msOf(update.since);
  const wave = subject === waveName(waves.current.index) ? waves.gates : null;
  for (const gates of [boot?.gates, update?.gates, wave]) {
    if (gates && gates.since !== null) gates.since += msOf(gates.since);
  }
}
