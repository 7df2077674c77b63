/** Decides when to signal a change of a pool: once per change, and again after a failure. */
import { setTimeout } from "node:timers/promises";
import type { Logger } from "@temporalio/common";
import type { PoolRef } from "../workflows/contracts/mod.ts";

/** The run that last wrote a Rollout. */
export interface ReportedRun {
  workflowId: string;
  runId: string;
}

/** The watched facts about a pool. */
export interface WatchedPool {
  pool: PoolRef;
  generation: number;
  /** Whether machine-controller has observed this generation, or does not need to. */
  isNumbered: boolean;
  /** Digest of everything that a rollout depends on. */
  observed: string;
  /** The digest `observed` that the last rollout has read, from its Rollout. */
  reported: string | undefined;
  /**
   * Whether the last rollout has not ended according to its Rollout; if its run was terminated, another run is started.
   */
  isOpen: boolean;
  /** Whether a user aborted the last rollout: only a change of the desired state starts another one. */
  isLeft: boolean;
  /** Digest of the policies that select the pool. */
  policies: string;
  /** Digest of the problems of its joined nodes; "" without problems. */
  illness: string;
  /** The run of an open rollout. */
  run?: ReportedRun;
}

export interface PoolWatch {
  /** Registers a listener for keys of pools that may have changed; at first it gets all pools. */
  onChange: (listener: (key: string) => void) => void;
  find(key: string): WatchedPool | undefined;
  keys(): string[];
}

export interface PoolNews {
  pool: PoolRef;
  generation: number;
  run?: ReportedRun;
  /** Set if the desired state was signalled or reported before: this signal must not undo a cancellation by a user. */
  isRepeat?: true;
  /**
   * The digest of the desired state, if only that state changed: a run that has already read this state need not read
   * again.
   */
  observed?: string;
}

interface NotifierDeps {
  /** Signals the run of a pool, and returns that run if known. */
  notify: (news: PoolNews) => Promise<ReportedRun | void>;
  log: Pick<Logger, "info" | "warn">;
  /** Milliseconds between checks of all pools; also the pause before a failed signal is retried. */
  lookEvery?: number;
  /**
   * Maximum milliseconds to wait until machine-controller has observed a change, counted from its last progress with
   * any pool.
   */
  numberedIn?: number;
}

/**
 * Milliseconds after which a signal is repeated if its rollout has not ended; a running rollout ignores the repetition.
 */
const retellAfterMs = 300_000;

/**
 * Default of `numberedIn`. The signal waits for machine-controller, because a run that started earlier could do nothing
 * but wait for it. A run that starts after this time reports the delay.
 */
const numberedInMs = 5_000;

/**
 * The longest wait (ms) for machine-controller while it observes changes of other pools; a run that started earlier
 * would wait for it equally long.
 */
const turnInMs = 600_000;

/**
 * Times (ms by `performance.now`): when machine-controller last observed a waiting change, and since when that change
 * had waited.
 */
interface Numbering {
  at: number;
  since: number;
}

/** The last signalled state of a pool; before the first signal, the state at its first check. */
type Memory = Pick<WatchedPool, "illness" | "policies"> & { observed: string | undefined; at: number };

/**
 * Its times are from `performance.now`, because a wall clock that is set back would delay signals until it has caught
 * up.
 */
export class PoolNotifier {
  #dirty = new Set<string>();
  #memories = new Map<string, Memory>();
  /** Pools that machine-controller has not observed yet, and since when (ms by `performance.now`). */
  #unnumbered = new Map<string, number>();
  #numbering: Numbering = { at: 0, since: 0 };
  #wake = new AbortController();
  /** Time of the next check of all pools (ms by `performance.now`). */
  #lookAt = 0;

  constructor(private readonly watch: PoolWatch, private readonly deps: NotifierDeps) {
    watch.onChange((key) => {
      this.#dirty.add(key);
      this.#wake.abort();
    });
  }

  /** Signals changes until `signal` aborts. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await this.#work();
      await this.#rest(signal);
      // Not all pools are checked at each change, because among a thousand pools one always changes.
      if (performance.now() >= this.#lookAt) this.#lookAtAll();
    }
  }

  #lookAtAll(): void {
    for (const key of this.watch.keys()) this.#dirty.add(key);
    this.#lookAt = performance.now() + (this.deps.lookEvery ?? 10_000);
  }

  async #work(): Promise<void> {
    while (this.#dirty.size > 0) {
      const batch = [...this.#dirty].slice(0, 20);
      for (const key of batch) this.#dirty.delete(key);
      await Promise.all(batch.map((key) => this.#consider(key)));
    }
  }

  async #rest(signal: AbortSignal): Promise<void> {
    this.#wake = new AbortController();
    if (this.#dirty.size > 0) return;
    const either = AbortSignal.any([signal, this.#wake.signal]);
    // The promise rejects only when a signal aborts, which ends the pause early.
    const rest = Math.max(0, this.#lookAt - performance.now());
    await setTimeout(rest, undefined, { signal: either }).catch(() => undefined);
  }

  async #consider(key: string): Promise<void> {
    const seen = this.watch.find(key);
    if (!seen) return this.#forget(key);
    if (this.#awaitNumber(key, seen) === "Waiting") return;
    if (!this.isNews(key, seen)) return void this.#memories.set(key, this.#memoryOf(key, seen));
    try {
      const { pool, generation, run, observed, illness, policies } = seen;
      const only = this.#isOfDesiredAlone(key, seen) ? { observed } : {};
      const repeat = this.#isRepeat(key, seen) ? { isRepeat: true as const } : {};
      const told = await this.deps.notify({ pool, generation, ...(run ? { run } : {}), ...repeat, ...only });
      this.#memories.set(key, { observed, illness, policies, at: performance.now() });
      this.deps.log.info("Signalled the rollout", { pool: key, generation: seen.generation, ...told });
    } catch (error) {
      this.deps.log.warn(`Failed to signal the rollout of "${key}"; retrying`, { error });
    }
  }

  #forget(key: string): void {
    this.#memories.delete(key);
    this.#unnumbered.delete(key);
  }

  // Waits for machine-controller only without an open run: an open run may be about to start an outdated step, so it
  // gets the change at once.
  #awaitNumber(key: string, { isNumbered, run }: WatchedPool): "Waiting" | "Over" {
    const now = performance.now();
    const since = this.#unnumbered.get(key) ?? now;
    if (isNumbered && this.#unnumbered.has(key)) this.#numbering = { at: now, since };
    if (isNumbered || run) {
      this.#unnumbered.delete(key);
      return "Over";
    }
    this.#unnumbered.set(key, since);
    return now < this.#turnEnds(since) ? "Waiting" : "Over";
  }

  // Returns when a wait for machine-controller that began at `since` ends: after `numberedIn` if
  // machine-controller has already observed a later change of another pool, otherwise possibly later.
  #turnEnds(since: number): number {
    const { numberedIn = numberedInMs } = this.deps;
    const { at, since: last } = this.#numbering;
    const isOvertaken = last > since + numberedIn;
    return isOvertaken ? since + numberedIn : Math.min(Math.max(since, at) + numberedIn, since + turnInMs);
  }

  /**
   * Returns whether a pool must be signalled: its rollout has not ended with this state and was not signalled recently,
   * or its nodes or policies changed since the last signal. Changes of nodes and policies are signalled once, even if
   * the run finds nothing to do.
   */
  isNews(key: string, seen: WatchedPool): boolean {
    const told = this.#memoryOf(key, seen);
    const isOther = told.illness !== seen.illness || told.policies !== seen.policies;
    if (isOther && !seen.isLeft) return true;
    const toldLately = told.observed === seen.observed && performance.now() - told.at < retellAfterMs;
    if (toldLately) return false;
    return seen.reported !== seen.observed || seen.isOpen;
  }

  // Returns whether this desired state was reported or signalled before. Until a run has reported it, the last signal
  // decides, so that a run that was cancelled before this report stays cancelled.
  #isRepeat(key: string, { reported, observed, isOpen }: WatchedPool): boolean {
    return reported === observed ? isOpen : observed === this.#memories.get(key)?.observed;
  }

  // Returns whether only the desired state changed since the last signal. False for a repeated signal, so that its run
  // reads again even if the run already knows this state.
  #isOfDesiredAlone(key: string, seen: WatchedPool): boolean {
    const told = this.#memoryOf(key, seen);
    return told.illness === seen.illness && told.policies === seen.policies && told.observed !== seen.observed;
  }

  // Before the first signal, problems that nodes already have count as new, but policies do not, because a run reads
  // the policies at its start.
  #memoryOf(key: string, { policies }: WatchedPool): Memory {
    return this.#memories.get(key) ?? { observed: undefined, at: 0, illness: "", policies };
  }
}
