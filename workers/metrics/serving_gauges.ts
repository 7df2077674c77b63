/** Metrics of whether a process works: while it waits for Temporal or its task queue, it is up, but does not work. */
import type { RolloutNumbers } from "../rollout_numbers.ts";
import { setVersionGauges, type VersionStatus } from "./node_version_gauges.ts";
import type { Metrics } from "./registry.ts";
import { setRolloutGauges } from "./rollout_gauges.ts";

/** The watch from which a leading controller reads the numbers of all Rollouts. */
export interface Watched {
  numbers(): readonly RolloutNumbers[] | undefined;
}

/** Exports whether this controller leads and, while it leads, the metrics of Rollouts and NodeVersions. */
export class Lead {
  #watched: Watched | undefined;
  #versions: (() => readonly VersionStatus[]) | undefined;

  constructor(metrics: Metrics | undefined) {
    metrics?.onScrape(() => {
      metrics.set("ostler_leader", this.#watched ? 1 : 0);
      setRolloutGauges(metrics, this.#watched?.numbers(), Date.now());
      setVersionGauges(metrics, this.#versions?.(), Date.now());
    });
  }

  /** Exports the metrics of these NodeVersions until the controller stops leading. */
  versions(read: () => readonly VersionStatus[]): void {
    this.#versions = read;
  }

  /** Runs `work` as the leader, and exports the metrics of `watched` until it ends. */
  async during(watched: Watched, work: () => Promise<void>): Promise<void> {
    this.#watched = watched;
    try {
      await work();
    } finally {
      this.#watched = undefined;
      this.#versions = undefined;
    }
  }
}

/** Sets the metric of the worker: whether it polls. */
export function measurePolling(metrics: Metrics | undefined, isPolling: () => boolean): void {
  metrics?.onScrape(() => metrics.set("ostler_worker_polling", isPolling() ? 1 : 0));
}
