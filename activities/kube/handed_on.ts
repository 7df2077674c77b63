/**
 * What one activity has read for the one that its run asks for next: between the two the run itself has done nothing. It
 * reaches only who runs in the same process, within moments; whoever it does not reach reads for itself.
 */
import type { Cluster } from "../cluster.ts";
import { Shelf } from "./cache.ts";
import { asyncLocalStorage } from "@temporalio/activity";

const momentMs = 5_000;
/** Runs of which something is kept. */
const most = 100;

interface Handed<T> {
  value: T;
  /** The activity that may take it. */
  next: string;
  /** Epoch ms. */
  until: number;
}

export class HandedOn<T> {
  readonly #shelf = new Shelf<Handed<T>>(most);

  /** Keeps it for the next activity of the run. */
  give(kube: Cluster, value: T, now = Date.now()): void {
    const { run, nth } = place() ?? {};
    if (run === undefined || nth === undefined) return;
    kube.cache.shelf(this.#shelf).set(run, { value, next: String(nth + 1), until: now + momentMs });
  }

  /** What the activity before has given; once. */
  take(kube: Cluster, now = Date.now()): T | undefined {
    const { run = "", nth } = place() ?? {};
    const kept = kube.cache.shelf(this.#shelf);
    const handed = kept.get(run);
    kept.delete(run);
    return handed && handed.next === String(nth) && now <= handed.until ? handed.value : undefined;
  }
}

// Activities of a run are numbered in the order in which it asks for them, local ones too.
function place(): { run: string | undefined; nth: number } | undefined {
  const { info } = asyncLocalStorage.getStore() ?? {};
  return info && { run: info.workflowExecution?.runId, nth: Number(info.activityId) };
}
