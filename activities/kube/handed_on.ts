/**
 * What one activity has read for the one that its run asks for next: between the two the run itself has done nothing. It
 * reaches only who runs in the same process, within moments; whoever it does not reach reads for itself.
 */
import { asyncLocalStorage } from "@temporalio/activity";
import type { Kube } from "./client.ts";

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
  readonly #kept = new WeakMap<object, Map<string, Handed<T>>>();

  /** Keeps it for the next activity of the run. */
  give(kube: Kube, value: T, now = Date.now()): void {
    const { run, nth } = place() ?? {};
    if (run === undefined || nth === undefined) return;
    const kept = this.#kept.get(kube.core) ?? new Map<string, Handed<T>>();
    this.#kept.set(kube.core, kept);
    kept.delete(run);
    kept.set(run, { value, next: String(nth + 1), until: now + momentMs });
    for (const [oldest, { until }] of kept) if (until < now || kept.size > most) kept.delete(oldest);
  }

  /** What the activity before has given; once. */
  take(kube: Kube, now = Date.now()): T | undefined {
    const { run = "", nth } = place() ?? {};
    const handed = this.#kept.get(kube.core)?.get(run);
    this.#kept.get(kube.core)?.delete(run);
    return handed && handed.next === String(nth) && now <= handed.until ? handed.value : undefined;
  }
}

// Activities of a run are numbered in the order in which it asks for them, local ones too.
function place(): { run: string | undefined; nth: number } | undefined {
  const { info } = asyncLocalStorage.getStore() ?? {};
  return info && { run: info.workflowExecution?.runId, nth: Number(info.activityId) };
}
