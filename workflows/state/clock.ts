/**
 * The times of machines, and of a wave's gates. A deadline does not count the time in which no task worked on them,
 * because of an outage, a denial, an internal error or a halt. Nor does it count the time that a task reports as
 * delayed.
 */
import type { Part } from "./rollout.ts";
import { waveName } from "./waves.ts";

type Timed = Part<"machines" | "waves">;

/** Extends the times of a machine, or of the gates of a wave, by `ms` that must not count. */
export function delay(timed: Timed, subject: string, ms: number): void {
  extend(timed, subject, () => ms);
}

/**
 * Stops the times of all machines in progress that no task works on, and those of the gates of the current wave if no
 * task evaluates them. Each time stops at `at` (epoch ms), unless it has stopped before.
 */
export function stopClocks({ machines, waves, tasks }: Timed & Part<"tasks">, at: number): void {
  const { booting, draining, updating } = machines;
  const busy = Object.values(tasks.running).map(({ subject }) => subject);
  const all = [...Object.keys({ ...booting, ...draining, ...updating }), waveName(waves.current.index)];
  for (const subject of all) if (!busy.includes(subject)) tasks.idle[subject] ??= at;
}

/**
 * Lets the times of a machine, or of the gates of a wave, run again; the time since its task stopped does not count.
 */
export function startClock({ tasks, ...timed }: Timed & Part<"tasks">, subject: string): void {
  const idle = tasks.idle[subject];
  delete tasks.idle[subject];
  if (idle === undefined) return;
  const now = Date.now();
  // If the step began again meanwhile, such as after a retry, only the idle time since then extends the deadlines.
  extend(timed, subject, (since) => Math.max(0, now - Math.max(idle, since)));
}

/**
 * Lets all times run again before another run takes them over, because the times at which they stopped are not carried.
 */
export function startClocks(timed: Timed & Part<"tasks">): void {
  for (const subject of Object.keys(timed.tasks.idle)) startClock(timed, subject);
}

/** Extends each time of the subject by the milliseconds that `msOf` returns for its start. */
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
