/** Whether a process does its work, rather than that it is up: what waits for Temporal, or for its place there, does not. */
import type { RolloutNumbers } from "../rollout_numbers.ts";
import type { Metrics } from "./registry.ts";
import { setRolloutGauges } from "./rollout_gauges.ts";

/** What a controller watches that leads. */
export interface Watched {
  numbers(): readonly RolloutNumbers[] | undefined;
}

/** The controller's: it leads as long as it watches. */
export class Lead {
  #watched: Watched | undefined;

  constructor(metrics: Metrics | undefined) {
    metrics?.onScrape(() => {
      metrics.set("ostler_leader", this.#watched ? 1 : 0);
      setRolloutGauges(metrics, this.#watched?.numbers(), Date.now());
    });
  }

  /** Does `work`, and leads meanwhile; however it ends, what was watched is told no more. */
  async during(watched: Watched, work: () => Promise<void>): Promise<void> {
    this.#watched = watched;
    try {
      await work();
    } finally {
      this.#watched = undefined;
    }
  }
}

/** The worker's: whether it takes up work. */
export function measurePolling(metrics: Metrics | undefined, isPolling: () => boolean): void {
  metrics?.onScrape(() => metrics.set("ostler_worker_polling", isPolling() ? 1 : 0));
}
