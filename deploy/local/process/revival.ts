import { setTimeout as pause } from "node:timers/promises";
import { ProcessCrash } from "./process_crash.ts";

/** What is started again. */
export interface Revivable {
  readonly name: string;
  readonly isRunning: boolean;
  /** False from the moment that somebody ends it on purpose until somebody starts it. */
  readonly isWanted: boolean;
  start(): Promise<void>;
}

/** Whom a revival tells, and what it goes by. */
interface RevivalSurroundings {
  /** Takes one line for each start. */
  readonly say: (line: string) => void;
  /** Takes the last end of what keeps ending. */
  readonly giveUp: (end: Error) => void;
  /** Aborts when nothing may start any more. */
  readonly lifetime: AbortSignal;
  readonly backOff?: BackOff;
  /** Milliseconds of a clock that never goes back. */
  readonly now?: () => number;
  readonly rest?: (ms: number, signal: AbortSignal) => Promise<unknown>;
}

/** Starts a process again each time it ends unasked, as a kubelet would; gives up what keeps ending. */
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

  /** Resolves when the process is ready again, is given up, or is nobody's business any more; never rejects. */
  async after(end: Error): Promise<void> {
    for (let last = end;;) {
      const outcome = await this.#startAfter(last);
      if (outcome === undefined) return;
      last = outcome;
    }
  }

  /** Gives the end of a start that failed. */
  async #startAfter(end: Error): Promise<Error | undefined> {
    const { backOff, now, say, giveUp, lifetime, rest } = this.#around;
    const pauseMs = backOff.pauseAfter(now(), now() - this.#startedAt);
    if (pauseMs === undefined) return void giveUp(end);
    say(`${howItEnded(this.#process.name, end)}; it is started again in ${pauseMs / 1000} s`);
    await rest(pauseMs, lifetime).catch(() => undefined);
    // Whoever stopped or started it meanwhile knows what it is to do.
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

/** How long to wait before a process is started again, as a kubelet does with a container: ever longer, to a limit. */
interface BackOffRules {
  readonly firstMs: number;
  readonly longestMs: number;
  /** Who ran so long starts at the first pause again. */
  readonly forgivenAfterMs: number;
  /** So many ends within the time below, and it is not started again. */
  readonly mostEnds: number;
  readonly withinMs: number;
}

/** A kubelet begins at 10 s; nobody watches a cluster of their own for so long. */
const usualBackOff: BackOffRules = {
  firstMs: 1_000,
  longestMs: 5 * 60_000,
  forgivenAfterMs: 60_000,
  mostEnds: 5,
  withinMs: 60_000,
};

/** Remembers when a process ended, by a clock in milliseconds. */
export class BackOff {
  readonly #rules: BackOffRules;
  #ends: number[] = [];
  #pauseMs = 0;

  constructor(rules: BackOffRules = usualBackOff) {
    this.#rules = rules;
  }

  /** The pause after an end at `now` of a process that had run for `ranMs`; undefined when it keeps ending. */
  pauseAfter(now: number, ranMs: number): number | undefined {
    const { firstMs, longestMs, forgivenAfterMs, mostEnds, withinMs } = this.#rules;
    this.#ends = [...this.#ends.filter((end) => now - end < withinMs), now];
    if (this.#ends.length >= mostEnds) return undefined;
    const isFresh = this.#pauseMs === 0 || ranMs >= forgivenAfterMs;
    this.#pauseMs = isFresh ? firstMs : Math.min(this.#pauseMs * 2, longestMs);
    return this.#pauseMs;
  }
}
