import { setTimeout as pause } from "node:timers/promises";
import { ProcessCrash } from "./process_crash.ts";

/** A process that can be restarted. */
export interface Revivable {
  readonly name: string;
  readonly isRunning: boolean;
  /** False from an intentional stop until the next start. */
  readonly isWanted: boolean;
  start(): Promise<void>;
}

/** Listeners, limits and clock of a revival. */
interface RevivalSurroundings {
  /** Receives one line for each restart. */
  readonly say: (line: string) => void;
  /** Receives the last error when the process has ended too often, and is not restarted any more. */
  readonly giveUp: (end: Error) => void;
  /** Aborts when no process may be started any more. */
  readonly lifetime: AbortSignal;
  readonly backOff?: BackOff;
  /** Returns the time of a monotonic clock, in milliseconds. */
  readonly now?: () => number;
  readonly rest?: (ms: number, signal: AbortSignal) => Promise<unknown>;
}

/** Restarts a process after each unexpected exit, like a kubelet; gives up after too many exits (`BackOffRules`). */
export class Revival {
  readonly #process: Revivable;
  readonly #around: Required<RevivalSurroundings>;
  #startedAt: number;

  constructor(process: Revivable, around: RevivalSurroundings) {
    this.#process = process;
    this.#around = {
      backOff: new BackOff(),
      now: () => performance.now(),
      rest: (ms, signal) => pause(ms, undefined, { signal }),
      ...around,
    };
    this.#startedAt = this.#around.now();
  }

  /**
   * Restarts the process, which ended with error `end`, until it is ready again, given up, or no longer wanted; never
   * rejects.
   */
  async after(end: Error): Promise<void> {
    for (let last = end;;) {
      const outcome = await this.#startAfter(last);
      if (outcome === undefined) return;
      last = outcome;
    }
  }

  /**
   * Restarts the process after a pause. Returns the error if the start fails; returns undefined if the process is
   * ready, given up, or no longer wanted.
   */
  async #startAfter(end: Error): Promise<Error | undefined> {
    const { backOff, now, say, giveUp, lifetime, rest } = this.#around;
    const pauseMs = backOff.pauseAfter(now(), now() - this.#startedAt);
    if (pauseMs === undefined) return void giveUp(end);
    say(`${howItEnded(this.#process.name, end)}; restarting in ${pauseMs / 1000} s`);
    await rest(pauseMs, lifetime).catch(() => undefined);
    // The process may have been stopped or started by another call during the pause.
    if (lifetime.aborted || !this.#process.isWanted || this.#process.isRunning) return undefined;
    this.#startedAt = now();
    try {
      return void await this.#process.start();
    } catch (error) {
      const isOurs = !lifetime.aborted && this.#process.isWanted;
      return isOurs && error instanceof Error ? error : undefined;
    }
  }
}

function howItEnded(name: string, end: Error): string {
  if (end instanceof ProcessCrash) return `"${name}" ${end.how}`;
  return end.message.split("\n", 1)[0] ?? "";
}

/**
 * Rules for pauses before restarts: as for containers of a kubelet, each pause is twice the previous one, up to a
 * limit.
 */
interface BackOffRules {
  readonly firstMs: number;
  readonly longestMs: number;
  /** If a process ran for at least this long before it ended, the pause before its restart is `firstMs` again. */
  readonly forgivenAfterMs: number;
  /** If a process has ended this many times within `withinMs`, it is not restarted any more. */
  readonly mostEnds: number;
  readonly withinMs: number;
}

/** The first pause is shorter than the 10 s of a kubelet, because a user watches a local cluster. */
const defaultBackOff: BackOffRules = {
  firstMs: 1_000,
  longestMs: 5 * 60_000,
  forgivenAfterMs: 60_000,
  mostEnds: 5,
  withinMs: 60_000,
};

/** Computes pauses from the times at which a process ended, in milliseconds. */
export class BackOff {
  readonly #rules: BackOffRules;
  #ends: number[] = [];
  #pauseMs = 0;

  constructor(rules: BackOffRules = defaultBackOff) {
    this.#rules = rules;
  }

  /**
   * Returns how long to wait before the restart of a process that has run for `ranMs` and ended at `now`; undefined if
   * the process has ended too often to be restarted.
   */
  pauseAfter(now: number, ranMs: number): number | undefined {
    const { firstMs, longestMs, forgivenAfterMs, mostEnds, withinMs } = this.#rules;
    this.#ends = [...this.#ends.filter((end) => now - end < withinMs), now];
    if (this.#ends.length >= mostEnds) return undefined;
    const isFresh = this.#pauseMs === 0 || ranMs >= forgivenAfterMs;
    this.#pauseMs = isFresh ? firstMs : Math.min(this.#pauseMs * 2, longestMs);
    return this.#pauseMs;
  }
}
