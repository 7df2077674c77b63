/** What wakes the main loop. */

/** What a task stopped with; the main loop says so and looks again. */
export interface Mishap {
  kind: "halt" | "unreachable";
  reason: string;
  message: string;
}

export interface Loop {
  /** Somebody said that the world changed, a task ended, or somebody asked for something. */
  nudged: boolean;
  /** When somebody last said that the world changed (epoch ms). */
  stirredAt: number;
  mishaps: Mishap[];
  /** What the pool looks like, and since when it does (epoch ms). */
  settling: { fingerprint: string; since: number };
  /** A broken promise of our own code, to be thrown by the main loop. */
  bug: unknown;
}

/** Nothing has happened yet. */
export function openLoop(now: number): Loop {
  return { nudged: false, stirredAt: now, mishaps: [], settling: { fingerprint: "", since: now }, bug: undefined };
}

/** Has the main loop look again. */
export function nudge(loop: Loop): void {
  loop.nudged = true;
}

/** The same, as the world changed. */
export function stir(loop: Loop): void {
  loop.stirredAt = Date.now();
  loop.nudged = true;
}

/** Forgets what stopped tasks of another change, and since when nothing moves. */
export function beginLoop(loop: Loop): void {
  loop.mishaps = [];
  loop.settling = { fingerprint: "", since: Date.now() };
}

/** Something was said, a task has ended, or one has stopped with what has to be told. */
export function isWoken({ nudged, mishaps }: Readonly<Loop>): boolean {
  return nudged || mishaps.length > 0;
}
