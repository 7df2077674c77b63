/** A client that continuously writes to an etcd and reads its writes: acknowledged ones must not be lost. */
import { setTimeout as pause } from "node:timers/promises";
import type { EtcdCluster } from "../etcd_cluster.ts";
import { eventually } from "../eventually.ts";
import { WriteLedger } from "./write_ledger.ts";

const everyMs = 200;
const gapMs = 500;

/** The observations of the client. */
export interface SteadyEtcdReport {
  acknowledged: number;
  /** Acknowledged writes that were read as an older value. */
  lost: readonly string[];
  /**
   * Milliseconds in which etcd acknowledged no write, without delays of a busy machine: the longest time, and the
   * total.
   */
  longestMs: number;
  downMs: number;
}

export class SteadyEtcdClient {
  readonly #cluster: EtcdCluster;
  readonly #ledger = new WriteLedger();
  readonly #down = { longestMs: 0, downMs: 0 };
  /** Milliseconds without an acknowledged write until now, without delays of a busy machine. */
  #waitedMs = 0;
  #isOver = false;
  readonly #working: Promise<void>;

  constructor(cluster: EtcdCluster) {
    this.#cluster = cluster;
    this.#working = this.#work();
  }

  /** Stops the client, and reads every written key once more. */
  async stop(): Promise<SteadyEtcdReport> {
    this.#isOver = true;
    await this.#working;
    for (const [slot, { acknowledged }] of this.#ledger.expected()) {
      if (acknowledged === 0) continue;
      await eventually(
        `an answer to "${slot}", which was written`,
        async () => (await this.#cluster.get(slot)) !== undefined,
      );
      await this.#read(slot);
    }
    return { acknowledged: this.#ledger.acknowledged, lost: this.#ledger.broken, ...this.#down };
  }

  async #work(): Promise<void> {
    while (!this.#isOver) {
      const { slot, value } = this.#ledger.next();
      const [begun, waitedMs] = [performance.now(), this.#waitedMs];
      if (await this.#timed(() => this.#cluster.put(slot, String(value)))) {
        this.#noteGap(this.#waitedMs);
        this.#waitedMs = 0;
        this.#ledger.acknowledge(slot, value);
        await this.#timed(() => this.#read(slot));
      } else {
        // etcd refused the write or did not answer, so the whole time counts, however busy the machine is.
        this.#waitedMs = waitedMs + performance.now() - begun + everyMs;
      }
      await pause(everyMs);
    }
  }

  /**
   * Adds the time by which a request takes longer than a concurrent request that needs no quorum. On a busy machine
   * both are slow; without a quorum only the first one is.
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
    if (ms < gapMs) return; // shorter times occur on a busy machine too
    this.#down.longestMs = Math.max(this.#down.longestMs, ms);
    this.#down.downMs += ms;
  }

  async #read(slot: string): Promise<void> {
    const expected = this.#ledger.expected().get(slot);
    const value = await this.#cluster.get(slot);
    // No response to this read: a later read of the key counts.
    if (value === undefined || expected === undefined) return;
    this.#ledger.compare(new Map([[slot, expected]]), { [slot]: value });
  }
}
