import type { Source } from "../../observer/api_source.ts";
import { openSource } from "../../observer/api_source.ts";
import { CollectionWatch } from "../../observer/collection_watch.ts";
import type { ApiObject } from "../../observer/pool_facts.ts";
import { guests } from "../pool_objects.ts";

/**
 * Counts the available guests at every change of a pod. Available guests are pods of the Deployment from `guestObjects`
 * that are Ready and not being deleted.
 */
export class GuestWatch {
  readonly #source: Source;
  readonly #watch: CollectionWatch;
  #now = 0;
  #least: number | undefined;

  private constructor(source: Source) {
    this.#source = source;
    this.#watch = new CollectionWatch({
      source,
      path: `/api/v1/namespaces/${guests.namespace}/pods`,
      read: serves,
      changed: (facts) => this.#count([...facts.values()].filter((isServing) => isServing).length),
      lastLookMs: 10_000,
    });
  }

  /** Starts to watch the pods of a cluster, until `stop`. */
  static async start(kubeconfig: string): Promise<GuestWatch> {
    const watch = new GuestWatch(await openSource(kubeconfig));
    await watch.#watch.start();
    return watch;
  }

  /** Starts to record the minimum number of available guests, which `least` returns. */
  arm(): void {
    this.#least = this.#now;
  }

  /** The minimum number of available guests since `arm`; 0 before `arm` is called. */
  get least(): number {
    return this.#least ?? 0;
  }

  async stop(): Promise<void> {
    await this.#watch.stop();
    this.#source.close();
  }

  #count(serving: number): void {
    this.#now = serving;
    if (this.#least !== undefined) this.#least = Math.min(this.#least, serving);
  }
}

interface Pod {
  metadata?: { labels?: Record<string, string>; deletionTimestamp?: string };
  status?: { conditions?: { type: string; status: string }[] };
}

// A pod that is being evicted does not count as available, although it may still be Ready.
function serves(object: ApiObject): boolean | undefined {
  const { metadata, status } = object as Pod;
  if (metadata?.labels?.["app"] !== guests.name) return undefined;
  const isReady = status?.conditions?.some((condition) => condition.type === "Ready" && condition.status === "True");
  return metadata.deletionTimestamp === undefined && isReady === true;
}
