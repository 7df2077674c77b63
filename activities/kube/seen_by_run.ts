/**
 * What a run has read a moment ago of its pool, for all of its activities in the same process. For those alone to whom it
 * does not matter that the world has moved on since: whoever is told nothing reads for itself.
 */
import { asyncLocalStorage } from "@temporalio/activity";
import type { Kube } from "./client.ts";

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
  readonly #kept = new WeakMap<object, Map<string, Noted<T>>>();

  /** Takes the place of what the run has seen before. */
  note(kube: Kube, value: T, now = Date.now()): void {
    const run = runId();
    if (run === undefined) return;
    const kept = this.#kept.get(kube.core) ?? new Map<string, Noted<T>>();
    this.#kept.set(kube.core, kept);
    kept.delete(run);
    kept.set(run, { value, until: now + momentMs });
    for (const [oldest, { until }] of kept) {
      if (until >= now && kept.size <= most) break;
      kept.delete(oldest);
    }
  }

  /** What the run that asks has seen, if it was a moment ago. */
  get(kube: Kube, now = Date.now()): T | undefined {
    const noted = this.#kept.get(kube.core)?.get(runId() ?? "");
    return noted && now <= noted.until ? noted.value : undefined;
  }
}

function runId(): string | undefined {
  return asyncLocalStorage.getStore()?.info.workflowExecution?.runId;
}
