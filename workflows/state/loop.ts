/** What wakes the main loop, and what ends it. */
import type { CarriedLoop } from "../contracts/mod.ts";

/** What a task stopped with; the main loop says so and looks again. */
export interface Mishap {
  kind: "halt" | "unreachable";
  reason: string;
  message: string;
}

export interface Loop extends CarriedLoop {
  /** Somebody said that the world changed, a task ended, or somebody asked for something. */
  nudged: boolean;
  /** All that was said is that this is desired, by its identity; undefined when there is more to it. */
  nudgedFor: string | undefined;
  /** When somebody last said that the world changed (epoch ms). */
  stirredAt: number;
  /** The newest generation that somebody told of; 0 for none. */
  announced: number;
  mishaps: Mishap[];
  /** Something under way has come to its next stage: to be told, and no reason to look. */
  hasNewStage: boolean;
  /** What the pool looks like, and since when it does (epoch ms). */
  settling: { fingerprint: string; since: number };
  /** A broken promise of our own code, found beside the main loop, which throws it. */
  thrown: unknown;
  /** Why this run ends, though it may not have looked yet; empty while it goes on. */
  over: string;
  /** When this run of the chain began its work (epoch ms). */
  steadySince: number;
}

/** No fault of ours was seen. */
export function freshLoop(): CarriedLoop {
  return { bugs: 0, bug: "" };
}

/** Nothing has happened yet. */
export function openLoop(carried: CarriedLoop, now: number): Loop {
  const settling = { fingerprint: "", since: now };
  return {
    ...carried,
    nudged: false,
    announced: 0,
    nudgedFor: undefined,
    stirredAt: now,
    mishaps: [],
    hasNewStage: false,
    settling,
    thrown: undefined,
    over: "",
    steadySince: now,
  };
}

/** Counts a fault of our own code; one after a long time without any is the first again. */
export function countBug(loop: Loop, bug: string, steadyMs: number): void {
  const isSteady = Date.now() - loop.steadySince >= steadyMs;
  loop.bugs = isSteady ? 1 : loop.bugs + 1;
  loop.bug = bug;
}

/** A run that came so far that its history was long has no fault of ours. */
export function forgetBugs(loop: Loop): void {
  Object.assign(loop, freshLoop());
}

/** Has the main loop look again. */
export function nudge(loop: Loop): void {
  loop.nudged = true;
  loop.nudgedFor = undefined;
}

/** Has the main loop tell where things stand, which changes nothing that it would plan. */
export function noteStage(loop: Loop): void {
  loop.hasNewStage = true;
}

/** The same, as the world changed; `observed` is the identity of what is desired now, where nothing else is the news. */
export function stir(loop: Loop, observed?: string): void {
  loop.stirredAt = Date.now();
  const isSame = !loop.nudged || loop.nudgedFor === observed;
  loop.nudged = true;
  loop.nudgedFor = isSame ? observed : undefined;
}

/** Something was said that a round which saw `observed` does not know. */
export function isBehind({ nudged, nudgedFor }: Readonly<Loop>, observed: string | undefined): boolean {
  return nudged && (nudgedFor === undefined || nudgedFor !== observed);
}

/** Notes that somebody told of a change, of this generation and to this where it is known. */
export function noteAnnounced(
  loop: Loop,
  { generation = 0, observed }: { generation?: number; observed?: string } = {},
): void {
  loop.announced = Math.max(loop.announced, generation);
  stir(loop, observed);
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

// Times as people read them.

/** Epoch milliseconds as RFC 3339. */
export function iso(epochMs: number): string {
  return new Date(epochMs).toISOString();
}
