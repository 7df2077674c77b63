/** A client that writes to an etcd and reads again what it wrote, all the while: what was acknowledged must not be lost. */
import { setTimeout as pause } from "node:timers/promises";
import type { EtcdCluster } from "../support/etcd_cluster.ts";
import { eventually } from "../support/eventually.ts";

const everyMs = 200;
const gapMs = 500;
/** Keys that are written in turn: memory is bounded, however long it takes. */
const keys = 100;

/** What it has seen. */
export interface SteadyReport {
  acknowledged: number;
  /** What was acknowledged, and read as something older. */
  lost: string[];
  /** Milliseconds in which no write was acknowledged though one was tried, by fault of etcd: the longest time, and all of it. */
  longestMs: number;
  downMs: number;
}

export class SteadyClient {
  readonly #cluster: EtcdCluster;
  readonly #known = new Map<string, number>();
  readonly #report: SteadyReport = { acknowledged: 0, lost: [], longestMs: 0, downMs: 0 };
  /** Milliseconds since the last write that was acknowledged. */
  #waitedMs = 0;
  #isOver = false;
  readonly #working: Promise<void>;

  constructor(cluster: EtcdCluster) {
    this.#cluster = cluster;
    this.#working = this.#work();
  }

  /** Ends it; every key is read once more. */
  async stop(): Promise<SteadyReport> {
    this.#isOver = true;
    await this.#working;
    for (const key of this.#known.keys()) {
      await eventually(
        `an answer to "${key}", which was written`,
        async () => (await this.#cluster.get(key)) !== undefined,
      );
      await this.#read(key);
    }
    return this.#report;
  }

  async #work(): Promise<void> {
    for (let number = 1; !this.#isOver; number++) {
      const key = `steady/${number % keys}`;
      const [begun, waitedMs] = [performance.now(), this.#waitedMs];
      if (await this.#timed(() => this.#cluster.put(key, String(number)))) {
        this.#noteGap(this.#waitedMs);
        this.#waitedMs = 0;
        this.#known.set(key, number);
        this.#report.acknowledged += 1;
        await this.#timed(() => this.#read(key));
      } else {
        // Refused, or not answered: then all of that time counts, however busy the machine is.
        this.#waitedMs = waitedMs + performance.now() - begun + everyMs;
      }
      await pause(everyMs);
    }
  }

  /**
   * What a question takes beyond one that is asked beside it and that needs no quorum: on a machine that is busy with something
   * else both are slow, and where etcd can decide nothing one alone is.
   */
  async #timed<T>(ask: () => Promise<T>): Promise<T> {
    const begun = performance.now();
    const msOf = async (asked: Promise<unknown>): Promise<number> => {
      await asked;
      return performance.now() - begun;
    };
    const answer = ask();
    const [own, other] = await Promise.all([msOf(answer), msOf(this.#cluster.ask())]);
    this.#waitedMs += Math.max(0, own - other);
    return await answer;
  }

  #noteGap(ms: number): void {
    if (ms < gapMs) return; // as long as a write may take on a busy machine
    this.#report.longestMs = Math.max(this.#report.longestMs, ms);
    this.#report.downMs += ms;
  }

  async #read(key: string): Promise<void> {
    const value = await this.#cluster.get(key);
    // Nobody answered; what it says later counts.
    if (value === undefined) return;
    const known = this.#known.get(key) ?? 0;
    if (Number(value) < known) this.#report.lost.push(`${key}: ${value} instead of ${known}`);
  }
}
