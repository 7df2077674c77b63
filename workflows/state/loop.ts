/** The events that wake the main loop of a run, and the errors that end the run. */
import type { CarriedLoop } from "../contracts/mod.ts";

/** A failure that stopped a task; the main loop reports it, waits, and then reads the pool again. */
export interface Mishap {
  kind: "halt" | "unreachable";
  reason: string;
  message: string;
}

export interface Loop extends CarriedLoop {
  /** A change was reported, a task ended, or a command arrived. */
  nudged: boolean;
  /**
   * The identity (`observed`) of the new desired state, if its change is the only event; undefined if there are other
   * events.
   */
  nudgedFor: string | undefined;
  /** When a change was last reported (epoch ms). */
  stirredAt: number;
  /** The newest generation of the pool's object that a signal reported; 0 for none. */
  announced: number;
  mishaps: Mishap[];
  /** A task has reached its next step, which must be reported but needs no read. */
  hasNewStage: boolean;
  /** The last fingerprint of the pool, and since when the pool has been unchanged (epoch ms). */
  settling: { fingerprint: string; since: number };
  /** An internal error that occurred in a task or a handler; the main loop throws it. */
  thrown: unknown;
  /** Why this run ends, possibly before its first read; empty while the run continues. */
  over: string;
  /** When this run of the chain began its work (epoch ms). */
  steadySince: number;
}

/** Returns the state without internal errors. */
export function freshLoop(): CarriedLoop {
  return { bugs: 0, bug: "" };
}

/** Returns the loop of a run in which nothing has happened yet. */
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

/** Counts an internal error; after `steadyMs` without an internal error, the count begins again at 1. */
export function countBug(loop: Loop, bug: string, steadyMs: number): void {
  const isSteady = Date.now() - loop.steadySince >= steadyMs;
  loop.bugs = isSteady ? 1 : loop.bugs + 1;
  loop.bug = bug;
}

/** Forgets internal errors of earlier runs, because this run reached a long history without one. */
export function forgetBugs(loop: Loop): void {
  Object.assign(loop, freshLoop());
}

/** Makes the main loop read the pool again. */
export function nudge(loop: Loop): void {
  loop.nudged = true;
  loop.nudgedFor = undefined;
}

/** Makes the main loop report the current steps, without another read or plan. */
export function noteStage(loop: Loop): void {
  loop.hasNewStage = true;
}

/**
 * Makes the main loop read the pool again after a change. If only the desired state changed, `observed` is the identity
 * of the new desired state.
 */
export function stir(loop: Loop, observed?: string): void {
  loop.stirredAt = Date.now();
  const isSame = !loop.nudged || loop.nudgedFor === observed;
  loop.nudged = true;
  loop.nudgedFor = isSame ? observed : undefined;
}

/** Returns whether an event arrived that a reconcile of the desired state `observed` does not include. */
export function isBehind({ nudged, nudgedFor }: Readonly<Loop>, observed: string | undefined): boolean {
  return nudged && (nudgedFor === undefined || nudgedFor !== observed);
}

/**
 * Records that a signal reported a change, with its generation and the identity of the desired state if they are known.
 */
export function noteAnnounced(
  loop: Loop,
  { generation = 0, observed }: { generation?: number; observed?: string } = {},
): void {
  loop.announced = Math.max(loop.announced, generation);
  stir(loop, observed);
}

/**
 * Forgets the failures of tasks of the previous change, and restarts the measurement of how long the pool has been
 * unchanged.
 */
export function beginLoop(loop: Loop): void {
  loop.mishaps = [];
  loop.settling = { fingerprint: "", since: Date.now() };
}

/** Returns whether an event arrived, a task ended, or a task stopped with a failure to report. */
export function isWoken({ nudged, mishaps }: Readonly<Loop>): boolean {
  return nudged || mishaps.length > 0;
}

// Formats times for people.

/** Returns epoch milliseconds as RFC 3339. */
export function iso(epochMs: number): string {
  return new Date(epochMs).toISOString();
}
