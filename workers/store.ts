/** A watched kind of custom resource, kept as parsed objects by "namespace/name". */
import type { KubeConfig, KubernetesListObject, KubernetesObject } from "@kubernetes/client-node";
import type { Logger } from "@temporalio/common";
import { CustomObjectsApi, ListWatch } from "@kubernetes/client-node";
import { setTimeout } from "node:timers/promises";
import { HttpsWatch } from "../activities/kube/https_watch.ts";
import type { Resource } from "../activities/kube/resources.ts";

export interface StoreDeps {
  onChange: (key: string) => void;
  log: Pick<Logger, "warn">;
  signal: AbortSignal;
}

/** Pause before a broken watch is started again. */
const restartMs = 2_000;

export class Store<T> {
  #objects = new Map<string, T>();
  #listed!: () => void;
  #ready = new Promise<void>((resolve) => this.#listed = resolve);

  constructor(
    private readonly config: KubeConfig,
    private readonly resource: Resource<T>,
    private readonly deps: StoreDeps,
  ) {}

  get(key: string): T | undefined {
    return this.#objects.get(key);
  }

  keys(): string[] {
    return [...this.#objects.keys()];
  }

  /** Watches until the signal aborts; resolves after the first complete list. */
  async start(): Promise<void> {
    const { group, version, plural } = this.resource;
    const api = this.config.makeApiClient(CustomObjectsApi);
    const list = async (): Promise<KubernetesListObject<KubernetesObject>> => {
      const found: KubernetesListObject<KubernetesObject> = await api.listClusterCustomObject({
        group,
        version,
        plural,
      });
      this.#forgetAllBut(found.items);
      this.#listed();
      return found;
    };
    const watch = new HttpsWatch(this.config);
    const informer = new ListWatch(`/apis/${group}/${version}/${plural}`, watch, list, false);
    informer.on("add", (object) => this.#put(object));
    informer.on("update", (object) => this.#put(object));
    informer.on("delete", (object) => this.#remove(keyOf(object)));
    informer.on("error", (error: unknown) => void this.#restart(informer, error));
    this.deps.signal.addEventListener("abort", () => void informer.stop(), { once: true });
    await informer.start().catch((error: unknown) => this.#restart(informer, error));
    await this.#ready;
  }

  async #restart(informer: { start(): Promise<void> }, error: unknown): Promise<void> {
    if (this.deps.signal.aborted) return;
    this.deps.log.warn(`Watch of ${this.resource.plural} broke: it is started again`, { error });
    await setTimeout(restartMs, undefined, { signal: this.deps.signal }).catch(() => undefined);
    if (this.deps.signal.aborted) return;
    await informer.start().catch((again: unknown) => this.#restart(informer, again));
  }

  #put(object: KubernetesObject): void {
    const parsed = this.resource.schema.safeParse(object);
    const key = keyOf(object);
    if (!parsed.success) return void this.deps.log.warn(`Cannot read ${this.resource.plural} "${key}"`, {});
    this.#objects.set(key, parsed.data);
    this.deps.onChange(key);
  }

  #remove(key: string): void {
    this.#objects.delete(key);
    this.deps.onChange(key);
  }

  // What was deleted while the watch was broken is missing from the new list.
  #forgetAllBut(items: KubernetesObject[]): void {
    const there = new Set(items.map(keyOf));
    for (const key of this.keys()) if (!there.has(key)) this.#remove(key);
  }
}

function keyOf({ metadata }: KubernetesObject): string {
  return `${metadata?.namespace}/${metadata?.name}`;
}
