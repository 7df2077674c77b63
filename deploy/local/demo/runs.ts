import { type Client, WorkflowNotFoundError } from "@temporalio/client";
import { setTimeout as pause } from "node:timers/promises";
import type { RollOutResult } from "../../../workflows/contracts.ts";
import { pool, type Release } from "./pool_objects.ts";

/** The id of the pool's one workflow. */
export const workflowId = `machine-deployment/${pool.namespace}/${pool.name}`;

const lookMs = 200;

/** Follows the pool's runs: each change starts one, and a run ends when the pool has converged. */
export class Runs {
  readonly #client: Client;
  readonly #stopping = new AbortController();
  readonly #results = new Map<string, RollOutResult>();
  readonly #calls = new Set<Promise<unknown>>();

  constructor(client: Client) {
    this.#client = client;
  }

  /** The results of all runs that ended so far, oldest first. */
  get results(): readonly RollOutResult[] {
    return [...this.#results.values()];
  }

  /** The id of the newest run that is not known to have ended, as soon as there is one. */
  async next(): Promise<string> {
    for (;;) {
      const runId = await this.#newest();
      if (runId !== undefined && !this.#results.has(runId)) return runId;
      await pause(lookMs, undefined, { signal: this.#stopping.signal });
    }
  }

  /** Resolves when a run ended with all machines on this release; rejects when one fails. */
  async converged(release: Release): Promise<RollOutResult> {
    for (;;) {
      const runId = await this.next();
      const handle = this.#client.workflow.getHandle(workflowId, runId);
      const result: RollOutResult = await this.#call(() => handle.result());
      this.#results.set(runId, result);
      if (isOn(release, result)) return result;
    }
  }

  /** Gives up whatever is still asked; resolves when nothing is any more. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    await Promise.allSettled(this.#calls);
  }

  // The client throws out of a timer, past every handler, when its connection is closed under a call that it tries again.
  #call<T>(ask: () => Promise<T>): Promise<T> {
    const call: Promise<T> = this.#client.withAbortSignal(this.#stopping.signal, ask)
      .finally(() => this.#calls.delete(call));
    this.#calls.add(call);
    return call;
  }

  async #newest(): Promise<string | undefined> {
    try {
      return (await this.#call(() => this.#client.workflow.getHandle(workflowId).describe())).runId;
    } catch (error) {
      if (error instanceof WorkflowNotFoundError) return undefined;
      throw error;
    }
  }
}

/** The web UI's page of a run. */
export function runPage({ uiUrl, namespace }: { uiUrl: string; namespace: string }, runId: string): string {
  return `${uiUrl}/namespaces/${namespace}/workflows/${encodeURIComponent(workflowId)}/${runId}/history`;
}

function isOn({ image, kubelet }: Release, result: RollOutResult): boolean {
  return result.outcome === "Converged" && result.image === image && result.kubelet?.replace(/^v/, "") === kubelet;
}
