/** A watched kind of object, kept as what was read of each by "namespace/name", or by name where there is no namespace. */
import type { KubeConfig, KubernetesListObject, KubernetesObject } from "@kubernetes/client-node";
import type { Logger } from "@temporalio/common";
import { CoreV1Api, CustomObjectsApi, ListWatch } from "@kubernetes/client-node";
import { setTimeout } from "node:timers/promises";
import { isDeepStrictEqual } from "node:util";
import type { Resource } from "../activities/kube/resources.ts";
import { SlimWatch } from "./slim_watch.ts";

export interface StoreDeps<T> {
  /** Told when what was read of an object changed, and when it came or went; `before` is what was read until now. */
  onChange: (key: string, before: T | undefined) => void;
  log: Pick<Logger, "warn">;
  signal: AbortSignal;
}

/** Pause before a broken watch is started again. */
const restartMs = 2_000;
/** Objects listed at once. */
const pageSize = 500;

/** All that the informer remembers of an object. */
interface Kept<T> extends KubernetesObject {
  read: T | undefined;
}

export class Store<T> {
  #objects = new Map<string, T>();
  #listed!: () => void;
  #ready = new Promise<void>((resolve) => this.#listed = resolve);

  constructor(
    private readonly config: KubeConfig,
    private readonly resource: Resource<T>,
    private readonly deps: StoreDeps<T>,
  ) {}

  get(key: string): T | undefined {
    return this.#objects.get(key);
  }

  keys(): string[] {
    return [...this.#objects.keys()];
  }

  values(): Iterable<T> {
    return this.#objects.values();
  }

  /** Watches until the signal aborts; resolves after the first complete list, or when it aborts before. */
  async start(): Promise<void> {
    if (this.deps.signal.aborted) return;
    const { group, version, plural } = this.resource;
    const path = group === "" ? `/api/${version}/${plural}` : `/apis/${group}/${version}/${plural}`;
    const watch = new SlimWatch(this.config, (object) => this.#keep(object));
    const informer = new ListWatch<Kept<T>>(path, watch, () => this.#list(), false);
    informer.on("add", (object) => this.#put(object));
    informer.on("update", (object) => this.#put(object));
    informer.on("delete", (object) => this.#remove(keyOf(object)));
    informer.on("error", (error: unknown) => void this.#restart(informer, error));
    this.deps.signal.addEventListener("abort", () => {
      this.#listed();
      void informer.stop();
    }, { once: true });
    await informer.start().catch((error: unknown) => this.#restart(informer, error));
    await this.#ready;
  }

  // Page by page, as a page is all that is ever held in full. All pages are of the first one's resource version.
  async #list(): Promise<KubernetesListObject<Kept<T>>> {
    const items: Kept<T>[] = [];
    let next: string | undefined;
    let resourceVersion: string | undefined;
    do {
      const page: KubernetesListObject<KubernetesObject> = await this.#page(next);
      items.push(...page.items.map((object) => this.#keep(object)));
      resourceVersion ??= page.metadata?.resourceVersion;
      next = page.metadata?._continue || (page.metadata as { continue?: string } | undefined)?.continue;
    } while (next);
    this.#forgetAllBut(items);
    this.#listed();
    return { items, metadata: { ...(resourceVersion ? { resourceVersion } : {}) } };
  }

  #page(after: string | undefined): Promise<KubernetesListObject<KubernetesObject>> {
    const { group, version, plural } = this.resource;
    const from = { limit: pageSize, ...(after ? { _continue: after } : {}) };
    // Nodes are the one kind of the core group that is watched.
    if (group === "") return this.config.makeApiClient(CoreV1Api).listNode(from);
    return this.config.makeApiClient(CustomObjectsApi).listClusterCustomObject({ group, version, plural, ...from });
  }

  async #restart(informer: { start(): Promise<void> }, error: unknown): Promise<void> {
    if (this.deps.signal.aborted) return;
    this.deps.log.warn(`Watch of ${this.resource.plural} broke: it is started again`, { error });
    await setTimeout(restartMs, undefined, { signal: this.deps.signal }).catch(() => undefined);
    if (this.deps.signal.aborted) return;
    await informer.start().catch((again: unknown) => this.#restart(informer, again));
  }

  #keep(object: KubernetesObject): Kept<T> {
    const { name, namespace, resourceVersion } = object.metadata ?? {};
    const place = { ...(name ? { name } : {}), ...(namespace ? { namespace } : {}) };
    const parsed = this.resource.schema.safeParse(object);
    return { metadata: { ...place, ...(resourceVersion ? { resourceVersion } : {}) }, read: parsed.data };
  }

  #put(object: Kept<T>): void {
    const key = keyOf(object);
    if (object.read === undefined) return void this.deps.log.warn(`Cannot read ${this.resource.plural} "${key}"`, {});
    const before = this.#objects.get(key);
    this.#objects.set(key, object.read);
    // Most updates of nodes and machines are heartbeats, of which nothing is kept.
    if (!isDeepStrictEqual(before, object.read)) this.deps.onChange(key, before);
  }

  #remove(key: string): void {
    const before = this.#objects.get(key);
    this.#objects.delete(key);
    this.deps.onChange(key, before);
  }

  // What was deleted while the watch was broken is missing from the new list.
  #forgetAllBut(items: KubernetesObject[]): void {
    const there = new Set(items.map(keyOf));
    for (const key of this.keys()) if (!there.has(key)) this.#remove(key);
  }
}

function keyOf({ metadata }: KubernetesObject): string {
  return metadata?.namespace ? `${metadata.namespace}/${metadata.name}` : `${metadata?.name}`;
}
