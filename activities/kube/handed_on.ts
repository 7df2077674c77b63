/**
 * Passes what one activity has read to the next activity of its run: between the two the run itself has done nothing.
 * It reaches only an activity in the same process, within moments; all others read for themselves.
 */
import type { Cluster } from "../cluster.ts";
import { Shelf } from "./cache.ts";
import { asyncLocalStorage } from "@temporalio/activity";

const momentMs = 5_000;
/** Runs with a kept value. */
const most = 100;

interface Handed<T> {
  value: T;
  /** The activity that may take the value. */
  next: string;
  /** Epoch ms. */
  until: number;
}

export class HandedOn<T> {
  readonly #shelf = new Shelf<Handed<T>>(most);

  /** Keeps the value for the next activity of the run. */
  give(kube: Cluster, value: T, now = Date.now()): void {
    const { run, nth } = place() ?? {};
    if (run === undefined || nth === undefined) return;
    kube.cache.shelf(this.#shelf).set(run, { value, next: String(nth + 1), until: now + momentMs });
  }

  /** Returns the value of the previous activity, once. */
  take(kube: Cluster, now = Date.now()): T | undefined {
    const { run = "", nth } = place() ?? {};
    const kept = kube.cache.shelf(this.#shelf);
    const handed = kept.get(run);
    kept.delete(run);
    return handed && handed.next === String(nth) && now <= handed.until ? handed.value : undefined;
  }
}

// Activities of a run are numbered in the order in which they are scheduled, local ones too.
function place(): { run: string | undefined; nth: number } | undefined {
  const { info } = asyncLocalStorage.getStore() ?? {};
  return info && { run: info.workflowExecution?.runId, nth: Number(info.activityId) };
}
