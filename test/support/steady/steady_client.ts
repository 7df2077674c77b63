/** A client that writes and reads continuously, and records lost writes and the time without answers. */
import { setTimeout as pause } from "node:timers/promises";
import { ApiConnection, ApiRefusal } from "../../../deploy/local/stack/api_connection.ts";
import { Availability, type Outages } from "./availability.ts";
import { WriteLedger } from "./write_ledger.ts";

export interface SteadyOptions {
  kubeconfig: string;
  /** Milliseconds between two iterations. */
  everyMs?: number;
}

export interface SteadyReport {
  /** Number of acknowledged writes. */
  writes: number;
  reads: number;
  /** Acknowledged writes that a later read did not show; empty if no write was lost. */
  broken: readonly string[];
  writing: Outages;
  reading: Outages;
}

const name = "steady-client";
const path = "/api/v1/namespaces/default/configmaps";
/** The timeout (ms) of each request; one iteration has two requests. */
const answerMs = 2_000;

export class SteadyClient {
  readonly #api: ApiConnection;
  readonly #everyMs: number;
  readonly #ended = new AbortController();
  readonly #ledger = new WriteLedger();
  readonly #writing = new Availability();
  readonly #reading = new Availability();
  readonly #run: Promise<void>;

  private constructor(api: ApiConnection, everyMs: number) {
    this.#api = api;
    this.#everyMs = everyMs;
    this.#run = this.#turns();
  }

  /** Resolves when the object that the client writes to exists, without data of an earlier client. */
  static async start({ kubeconfig, everyMs = 150 }: SteadyOptions): Promise<SteadyClient> {
    const api = await ApiConnection.open(kubeconfig);
    const body = { metadata: { name }, data: {} };
    await api.call({ method: "POST", path, body }).catch(async (error: unknown) => {
      if (!(error instanceof ApiRefusal && error.status === 409)) throw error;
      const contentType = "application/merge-patch+json";
      await api.call({ method: "PATCH", path: `${path}/${name}`, body: { data: null }, contentType });
    });
    return new SteadyClient(api, everyMs);
  }

  /** Returns the observations until now. */
  report(): SteadyReport {
    const { acknowledged, broken } = this.#ledger;
    const [writing, reading] = [this.#writing.report(), this.#reading.report()];
    return { writes: acknowledged, reads: reading.successes, broken, writing, reading };
  }

  /** Ends with a last read of all acknowledged writes. */
  async stop(): Promise<SteadyReport> {
    this.#ended.abort();
    await this.#run;
    await this.#read();
    this.#api[Symbol.dispose]();
    return this.report();
  }

  async #turns(): Promise<void> {
    const { signal } = this.#ended;
    while (!signal.aborted) {
      const next = performance.now() + this.#everyMs;
      await this.#write();
      await this.#read();
      await pause(Math.max(0, next - performance.now()), undefined, { signal }).catch(() => undefined);
    }
  }

  async #write(): Promise<void> {
    const { slot, value } = this.#ledger.next();
    const body = { data: { [slot]: `${value}` } };
    const contentType = "application/merge-patch+json";
    await this.#writing.attempt(async () => {
      await this.#api.call({ method: "PATCH", path: `${path}/${name}`, body, contentType, signal: late() });
      this.#ledger.acknowledge(slot, value);
    });
  }

  async #read(): Promise<void> {
    const expected = this.#ledger.expected();
    await this.#reading.attempt(async () => {
      const found = await this.#api.call({ method: "GET", path: `${path}/${name}`, signal: late() });
      this.#ledger.compare(expected, (found as { data?: Record<string, string> }).data ?? {});
    });
  }
}

function late(): AbortSignal {
  return AbortSignal.timeout(answerMs);
}
