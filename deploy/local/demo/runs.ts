import { type Client, type WorkflowExecutionDescription, WorkflowNotFoundError } from "@temporalio/client";
import { setTimeout as pause } from "node:timers/promises";
import type { RollOutResult } from "../../../workflows/contracts/mod.ts";
import { pool, type Release } from "./pool_objects.ts";

/** The id of the pool's one workflow. */
export const workflowId = `machine-deployment/${pool.namespace}/${pool.name}`;

const lookMs = 200;
const answerMs = 10_000;

/** Follows the pool's runs: each change starts one, and a run ends when the pool has converged. */
export class Runs {
  readonly #client: Client;
  /** The run of an earlier pool of that name; undefined without one. */
  readonly #past: string | undefined;
  readonly #stopping = new AbortController();
  readonly #results = new Map<string, RollOutResult>();
  readonly #calls = new Set<Promise<unknown>>();

  private constructor(client: Client, past: string | undefined) {
    this.#client = client;
    this.#past = past;
  }

  /** Follows the runs that start from now on. */
  static async open(client: Client): Promise<Runs> {
    const newest = await client.workflow.getHandle(workflowId).describe().catch((error: unknown) => {
      if (!(error instanceof WorkflowNotFoundError)) throw error;
    });
    return new Runs(client, newest?.runId);
  }

  /** The results of all runs that ended so far, oldest first. */
  get results(): readonly RollOutResult[] {
    return [...this.#results.values()];
  }

  /** The id of the newest run that is not known to have ended, as soon as there is one. */
  async next(): Promise<string> {
    const isNew = ({ runId }: WorkflowExecutionDescription): boolean => !this.#results.has(runId);
    return (await this.#newest(isNew)).runId;
  }

  /** Resolves when a run ended with all machines on this release; rejects when one fails. */
  async converged(release: Release): Promise<RollOutResult> {
    const isOver = ({ runId, status }: WorkflowExecutionDescription): boolean =>
      !this.#results.has(runId) && !["RUNNING", "CONTINUED_AS_NEW"].includes(status.name);
    for (;;) {
      const { runId } = await this.#newest(isOver);
      const result: RollOutResult = await this.#call(() => this.#client.workflow.getHandle(workflowId, runId).result());
      this.#results.set(runId, result);
      if (isOn(release, result)) return result;
    }
  }

  /** Asks nothing more; resolves when every answer is there, so that the connection may be closed. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    await Promise.allSettled(this.#calls);
  }

  // Looked for again and again, as the SDK's own wait for a result cannot be given up on a native connection.
  async #newest(isIt: (run: WorkflowExecutionDescription) => boolean): Promise<WorkflowExecutionDescription> {
    const { signal } = this.#stopping;
    for (;;) {
      const run = await this.#call(() => this.#client.workflow.getHandle(workflowId).describe())
        .catch((error: unknown) => {
          if (!(error instanceof WorkflowNotFoundError)) throw error;
        });
      if (run !== undefined && run.runId !== this.#past && isIt(run)) return run;
      await pause(lookMs, undefined, { signal });
    }
  }

  #call<T>(ask: () => Promise<T>): Promise<T> {
    this.#stopping.signal.throwIfAborted();
    const call: Promise<T> = this.#client.withDeadline(Date.now() + answerMs, ask)
      .finally(() => this.#calls.delete(call));
    this.#calls.add(call);
    return call;
  }
}

/** The web UI's page of a run. */
export function runPage({ uiUrl, namespace }: { uiUrl: string; namespace: string }, runId: string): string {
  return `${uiUrl}/namespaces/${namespace}/workflows/${encodeURIComponent(workflowId)}/${runId}/history`;
}

function isOn({ image, kubelet }: Release, result: RollOutResult): boolean {
  return result.outcome === "Converged" && result.image === image && result.kubelet?.replace(/^v/, "") === kubelet;
}
