/**
 * What a run has read a moment ago of its pool, for all of its activities in the same process. For those alone to whom it
 * does not matter that the world has moved on since: whoever is told nothing reads for itself.
 */
import type { Cluster } from "../cluster.ts";
import { Shelf } from "./cache.ts";
import { asyncLocalStorage } from "@temporalio/activity";

/** As long as a run takes from its look to its report where many begin at once. */
const momentMs = 30_000;
/** Runs of which something is kept. */
const most = 1_000;

interface Noted<T> {
  value: T;
  /** Epoch ms. */
  until: number;
}

export class SeenByRun<T> {
  readonly #shelf = new Shelf<Noted<T>>(most);

  /** Takes the place of what the run has seen before. */
  note(kube: Cluster, value: T, now = Date.now()): void {
    const run = runId();
    if (run === undefined) return;
    kube.cache.shelf(this.#shelf).set(run, { value, until: now + momentMs });
  }

  /** What the run that asks has seen, if it was a moment ago. */
  get(kube: Cluster, now = Date.now()): T | undefined {
    const noted = kube.cache.shelf(this.#shelf).get(runId() ?? "");
    return noted && now <= noted.until ? noted.value : undefined;
  }
}

function runId(): string | undefined {
  return asyncLocalStorage.getStore()?.info.workflowExecution?.runId;
}
