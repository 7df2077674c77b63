/** Decides when a change is news: once per change, and again after a failure. */
import { setTimeout } from "node:timers/promises";
import type { Logger } from "@temporalio/common";
import type { PoolRef } from "../workflows/contracts/mod.ts";

/** The run that a Rollout was last written by. */
export interface ReportedRun {
  workflowId: string;
  runId: string;
}

/** One pool as the watch sees it. */
export interface WatchedPool {
  pool: PoolRef;
  generation: number;
  /** Who makes the machines has taken this generation up, or it needs no more. */
  isNumbered: boolean;
  /** Identity of everything a rollout depends on. */
  observed: string;
  /** What the last rollout had seen, from the Rollout object. */
  reported: string | undefined;
  /** The last rollout has not ended, as far as its Rollout tells: one that was terminated is started again. */
  isOpen: boolean;
  /** Somebody stopped the last rollout: only a change of what is desired starts another one. */
  isLeft: boolean;
  /** Identity of the policies that select it. */
  policies: string;
  /** Identity of what is wrong with its joined nodes; "" when nothing is. */
  illness: string;
  /** Of a rollout that has not ended. */
  run?: ReportedRun;
}

export interface PoolWatch {
  /** Calls back with the key of a pool that may have changed; all of them at first. */
  onChange: (listener: (key: string) => void) => void;
  find(key: string): WatchedPool | undefined;
  keys(): string[];
}

export interface PoolNews {
  pool: PoolRef;
  generation: number;
  run?: ReportedRun;
  /** What is desired now, where that alone is the news: who has just seen the same need not look again. */
  observed?: string;
}

export interface NotifierDeps {
  /** Gives the run that was told, where that is known. */
  notify: (news: PoolNews) => Promise<ReportedRun | void>;
  log: Pick<Logger, "info" | "warn">;
  /** Milliseconds between looks at everything; also the pause before a failed notice is tried again. */
  lookEvery?: number;
  /** Milliseconds that a change is given to be numbered before it is told all the same, as long as no other one is. */
  numberedIn?: number;
}

/** What was told, but did not lead to an end yet, is told again after this long; a running rollout takes no harm. */
const retellAfterMs = 300_000;

/** Numbering takes machine-controller moments, and a run could only wait for it; one that begins after this long says so. */
const numberedInMs = 5_000;

/** A change waits its turn while machine-controller numbers others, but no longer than a run would. */
const turnInMs = 600_000;

/** When a change was numbered that had waited for it, and since when it had (epoch ms). */
interface Numbering {
  at: number;
  since: number;
}

/** What was told of a pool, or, as long as nothing was, what it was first seen with. */
type Memory = Pick<WatchedPool, "illness" | "policies"> & { observed: string | undefined; at: number };

export class PoolNotifier {
  #dirty = new Set<string>();
  #memories = new Map<string, Memory>();
  /** Pools that are not numbered yet, and since when (epoch ms). */
  #unnumbered = new Map<string, number>();
  #numbering: Numbering = { at: 0, since: 0 };
  #wake = new AbortController();
  /** Epoch ms of the next look at everything. */
  #lookAt = 0;

  constructor(private readonly watch: PoolWatch, private readonly deps: NotifierDeps) {
    watch.onChange((key) => {
      this.#dirty.add(key);
      this.#wake.abort();
    });
  }

  /** Works until `signal` aborts. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await this.#work();
      await this.#rest(signal);
      // Not at each change: with a thousand pools there is always one.
      if (Date.now() >= this.#lookAt) this.#lookAtAll();
    }
  }

  #lookAtAll(): void {
    for (const key of this.watch.keys()) this.#dirty.add(key);
    this.#lookAt = Date.now() + (this.deps.lookEvery ?? 10_000);
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
    // Aborting is how this rest ends early; nothing else can be thrown.
    const rest = Math.max(0, this.#lookAt - Date.now());
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
      const told = await this.deps.notify({ pool, generation, ...(run ? { run } : {}), ...only });
      this.#memories.set(key, { observed, illness, policies, at: Date.now() });
      this.deps.log.info("Rollout notified", { pool: key, generation: seen.generation, ...told });
    } catch (error) {
      this.deps.log.warn(`Failed to signal the rollout of "${key}"; retrying`, { error });
    }
  }

  #forget(key: string): void {
    this.#memories.delete(key);
    this.#unnumbered.delete(key);
  }

  // A run that is under way shall know at once: it may be about to begin what nobody wants any more.
  #awaitNumber(key: string, { isNumbered, run }: WatchedPool): "Waiting" | "Over" {
    const now = Date.now();
    const since = this.#unnumbered.get(key) ?? now;
    if (isNumbered && this.#unnumbered.has(key)) this.#numbering = { at: now, since };
    if (isNumbered || run) {
      this.#unnumbered.delete(key);
      return "Over";
    }
    this.#unnumbered.set(key, since);
    return now < this.#turnEnds(since) ? "Waiting" : "Over";
  }

  // Who came later and is numbered already has overtaken it: then it is not its turn that it waits for.
  #turnEnds(since: number): number {
    const { numberedIn = numberedInMs } = this.deps;
    const { at, since: last } = this.#numbering;
    const isOvertaken = last > since + numberedIn;
    return isOvertaken ? since + numberedIn : Math.min(Math.max(since, at) + numberedIn, since + turnInMs);
  }

  /**
   * Not yet seen by a rollout that came to its end, and not told lately; or its nodes or policies are not those that
   * were told. What a run makes of these is its own affair: it is told once, even if it finds nothing to do.
   */
  isNews(key: string, seen: WatchedPool): boolean {
    const told = this.#memoryOf(key, seen);
    const isOther = told.illness !== seen.illness || told.policies !== seen.policies;
    if (isOther && !seen.isLeft) return true;
    const toldLately = told.observed === seen.observed && Date.now() - told.at < retellAfterMs;
    if (toldLately) return false;
    return seen.reported !== seen.observed || seen.isOpen;
  }

  // What is told again is told without: whoever knows of it all the same has not come to an end with it.
  #isOfDesiredAlone(key: string, seen: WatchedPool): boolean {
    const told = this.#memoryOf(key, seen);
    return told.illness === seen.illness && told.policies === seen.policies && told.observed !== seen.observed;
  }

  // What was ill before anybody looked is news; which policies there were is not.
  #memoryOf(key: string, { policies }: WatchedPool): Memory {
    return this.#memories.get(key) ?? { observed: undefined, at: 0, illness: "", policies };
  }
}
