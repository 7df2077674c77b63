import {
  type Client,
  NamespaceNotFoundError,
  type WorkflowExecutionDescription,
  WorkflowNotFoundError,
} from "@temporalio/client";
import { setTimeout as pause } from "node:timers/promises";
import type { RollOutResult } from "../../../workflows/contracts/mod.ts";
import { pool, type Release } from "./pool_objects.ts";

/** The id of the workflow of the pool. */
export const workflowId = `machine-deployment/${pool.namespace}/${pool.name}`;

const intervalMs = 200;
const answerMs = 10_000;

/** Follows the workflow runs of the pool: each change starts a run, which ends when the pool has converged. */
export class Runs {
  readonly #client: Client;
  /**
   * Id of the newest run at the time of `open`, which belongs to an earlier pool of the same name; undefined if the
   * workflow had no run.
   */
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
    const newest = await client.workflow.getHandle(workflowId).describe().catch(unlessAbsent);
    return new Runs(client, newest?.runId);
  }

  /** The results of the runs whose end `converged` has awaited, oldest first. */
  get results(): readonly RollOutResult[] {
    return [...this.#results.values()];
  }

  /** Resolves with the id of the newest run whose result is not known yet. */
  async next(): Promise<string> {
    const isNew = ({ runId }: WorkflowExecutionDescription): boolean => !this.#results.has(runId);
    return (await this.#newest(isNew)).runId;
  }

  /** Resolves with the result of the run that ends with all machines on this release; rejects if a run fails. */
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

  /** Starts no more calls; resolves when all calls have ended, so that the connection can be closed. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    await Promise.allSettled(this.#calls);
  }

  // Polls, because on a native connection the SDK cannot cancel a wait for the result of a run.
  async #newest(isIt: (run: WorkflowExecutionDescription) => boolean): Promise<WorkflowExecutionDescription> {
    const { signal } = this.#stopping;
    for (;;) {
      const run = await this.#call(() => this.#client.workflow.getHandle(workflowId).describe()).catch(unlessAbsent);
      if (run !== undefined && run.runId !== this.#past && isIt(run)) return run;
      await pause(intervalMs, undefined, { signal });
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

/**
 * Returns undefined if the error means that no run exists yet, and throws any other error. Temporal's namespace can be
 * missing too, because a story that installs Ostler creates it.
 */
function unlessAbsent(error: unknown): undefined {
  if (error instanceof WorkflowNotFoundError || error instanceof NamespaceNotFoundError) return undefined;
  throw error;
}

/** Returns the URL of a run in the web UI. */
export function runPage({ uiUrl, namespace }: { uiUrl: string; namespace: string }, runId: string): string {
  return `${uiUrl}/namespaces/${namespace}/workflows/${encodeURIComponent(workflowId)}/${runId}/history`;
}

function isOn({ image, kubelet }: Release, result: RollOutResult): boolean {
  return result.outcome === "Converged" && result.image === image && result.kubelet?.replace(/^v/, "") === kubelet;
}
