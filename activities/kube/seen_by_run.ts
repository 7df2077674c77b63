/**
 * Values that a run read of its pool moments ago, for all of its activities in the same process that tolerate outdated
 * data: an activity that gets nothing reads for itself.
 */
import type { Cluster } from "../cluster.ts";
import { Shelf } from "./cache.ts";
import { asyncLocalStorage } from "@temporalio/activity";

/** The time (ms) that a run takes from its read to its report when many start at once. */
const momentMs = 30_000;
/** Runs with a kept value. */
const most = 1_000;

interface Noted<T> {
  value: T;
  /** Epoch ms. */
  until: number;
}

export class SeenByRun<T> {
  readonly #shelf = new Shelf<Noted<T>>(most);

  /** Replaces what the run has read before. */
  note(kube: Cluster, value: T, now = Date.now()): void {
    const run = runId();
    if (run === undefined) return;
    kube.cache.shelf(this.#shelf).set(run, { value, until: now + momentMs });
  }

  /** Returns what the calling run has read, if that was moments ago. */
  get(kube: Cluster, now = Date.now()): T | undefined {
    const noted = kube.cache.shelf(this.#shelf).get(runId() ?? "");
    return noted && now <= noted.until ? noted.value : undefined;
  }
}

function runId(): string | undefined {
  return asyncLocalStorage.getStore()?.info.workflowExecution?.runId;
}
