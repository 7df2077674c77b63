/**
 * A kind of object, listed once and then watched: of each object no more is kept than the resource's schema reads. What
 * a page or an event brings is read at once and let go, so ten thousand machines cost what their facts do.
 */
import type { Logger } from "@temporalio/common";
import { setTimeout as pause } from "node:timers/promises";
import { isDeepStrictEqual } from "node:util";
import { homeOf, type Kube, listThere, namespaceOf } from "./client.ts";
import { eachPage, type PageOf, type Resource } from "./resources.ts";
import { statusOf } from "./status.ts";

export interface InformerDeps<T> {
  kube: Kube;
  /** Told when what was read of an object changed, and when it came or went; `before` is what was read until now. */
  onChange?: (key: string, before: T | undefined) => void;
  log?: Pick<Logger, "warn">;
  /** Aborting it ends the watch. */
  signal: AbortSignal;
}

/** Between the end of one stream and the next, what was known still counts. */
const gapMs = 15_000;
/** Pause before a stream that ended is opened again; it grows while that fails. */
const restMs = 1_000;
const longestRestMs = 15_000;
/** A stream that lasted this long worked: its end is nothing to wait for. */
const soundMs = 5_000;

interface Watched {
  metadata?: { name?: string; namespace?: string; resourceVersion?: string };
}

/** Keys are "namespace/name", or the name where there is no namespace. */
export class Informer<T> {
  readonly #resource: Resource<T>;
  readonly #deps: InformerDeps<T>;
  readonly #objects = new Map<string, T>();
  readonly #ready = Promise.withResolvers<void>();
  /** Where in the stream of changes we are; undefined when everything has to be listed. */
  #version: string | undefined;
  #freshUntil = 0;
  /** What broke the stream; "" once there is one again. */
  #said = "";

  constructor(resource: Resource<T>, deps: InformerDeps<T>) {
    this.#resource = resource;
    this.#deps = deps;
  }

  get(key: string): T | undefined {
    return this.#objects.get(key);
  }

  keys(): string[] {
    return [...this.#objects.keys()];
  }

  values(): Iterable<T> {
    return this.#objects.values();
  }

  /** Whether all changes up to about now are known. */
  get isFresh(): boolean {
    return Date.now() < this.#freshUntil;
  }

  /** Watches until the signal aborts; resolves after the first complete list, or when it aborts before. */
  start(): Promise<void> {
    const { signal } = this.#deps;
    signal.addEventListener("abort", () => this.#ready.resolve(), { once: true });
    if (signal.aborted) this.#ready.resolve();
    else void this.#run();
    return this.#ready.promise;
  }

  async #run(): Promise<void> {
    const { signal } = this.#deps;
    for (let rest = restMs; !signal.aborted; rest = Math.min(longestRestMs, rest * 2)) {
      const begun = Date.now();
      await this.#listAndFollow().catch((error: unknown) => this.#note(error));
      if (Date.now() - begun > soundMs) rest = restMs;
      // Not all processes at once, after a restart of the API server; aborting ends the rest early.
      const ms = rest * (0.5 + Math.random() / 2);
      await pause(ms, undefined, { ref: false, signal }).catch(() => undefined);
    }
    this.#freshUntil = 0;
    this.#objects.clear();
  }

  async #listAndFollow(): Promise<void> {
    this.#version ??= await this.#list();
    this.#ready.resolve();
    await this.#follow(this.#version);
  }

  // Page by page; what was deleted while nobody watched is missing at the end.
  async #list(): Promise<string> {
    const there = new Set<string>();
    const version = await eachPage((page) => this.#page(page), (items) => {
      for (const object of items) {
        there.add(keyOf(object));
        this.#put(object);
      }
    });
    for (const key of this.keys()) if (!there.has(key)) this.#remove(key);
    return version;
  }

  async #page(page: PageOf): Promise<{ items?: Watched[] }> {
    const { kube } = this.#deps;
    const some = { ...page, ...this.#selector() };
    const { group, namespace } = this.#resource;
    // Of the core group only nodes are watched, and pods of one namespace.
    if (group === "" && namespace !== undefined) return await kube.core.listNamespacedPod({ ...some, namespace });
    if (group === "") return await kube.core.listNode(some);
    return await listThere(kube, this.#resource, some) as { items?: Watched[] };
  }

  #selector(): { fieldSelector?: string } {
    const { fieldSelector } = this.#resource;
    return fieldSelector === undefined ? {} : { fieldSelector };
  }

  #path(): string {
    const { group, version, plural } = this.#resource;
    const namespace = this.#resource.namespace ?? namespaceOf(this.#deps.kube, this.#resource);
    const within = namespace === undefined ? "" : `/namespaces/${namespace}`;
    return group === "" ? `/api/${version}${within}/${plural}` : `/apis/${group}/${version}${within}/${plural}`;
  }

  async #follow(resourceVersion: string): Promise<void> {
    const { kube, signal } = this.#deps;
    const { watch } = homeOf(kube, this.#resource);
    const { promise: ended, resolve } = Promise.withResolvers<unknown>();
    let isOver = false;
    const end = (error: unknown): void => {
      isOver = true;
      resolve(this.#ended(error));
    };
    if (!watch) throw new Error(`Failed to watch ${this.#resource.plural}: this process has no watch client`);
    const since = { resourceVersion, ...this.#selector() };
    const stream = await watch.watch(this.#path(), since, (type: string, object: Watched) => {
      if (type !== "ERROR") return this.#tell(type, object);
      this.#version = undefined; // our place in the stream is gone, and with it what came since
      this.#freshUntil = 0;
      resolve(undefined);
    }, end);
    const stop = (): void => stream.abort();
    signal.addEventListener("abort", stop, { once: true });
    if (signal.aborted) stop();
    // One that could not be opened has ended by now.
    if (!isOver) this.#opened();
    const error = await ended.finally(() => {
      signal.removeEventListener("abort", stop);
      stop();
    });
    if (error) throw error;
  }

  #opened(): void {
    this.#freshUntil = Infinity;
    this.#said = "";
  }

  #ended(error: unknown): unknown {
    // A stream that went quiet was out of date before anybody noticed.
    const isStale = error instanceof Error && error.name === "TimeoutError";
    this.#freshUntil = isStale ? 0 : Math.min(this.#freshUntil, Date.now() + gapMs);
    return error;
  }

  // Where the API server does not take our place in the stream, what it has now has to be listed. Anything else may pass.
  #note(error: unknown): void {
    const { log, signal } = this.#deps;
    const status = statusOf(error) ?? (error as { statusCode?: number }).statusCode;
    if (status !== undefined && ![429, 500, 502, 503].includes(status)) this.#version = undefined;
    const { message } = error as Error;
    // Once: an API server may be away for an hour.
    if (!signal.aborted && message !== this.#said) {
      log?.warn(`Watch of ${this.#resource.plural} failed; retrying`, { error });
    }
    this.#said = message;
  }

  #tell(type: string, object: Watched): void {
    this.#version = object.metadata?.resourceVersion ?? this.#version;
    if (type === "DELETED") this.#remove(keyOf(object));
    else if (type !== "BOOKMARK") this.#put(object);
  }

  #put(object: Watched): void {
    const key = keyOf(object);
    const { data } = this.#resource.schema.safeParse(object);
    if (data === undefined) return void this.#deps.log?.warn(`Failed to read ${this.#resource.plural} "${key}"`, {});
    const before = this.#objects.get(key);
    this.#objects.set(key, data);
    // Most updates of nodes and machines are heartbeats, of which nothing is kept.
    if (!isDeepStrictEqual(before, data)) this.#deps.onChange?.(key, before);
  }

  #remove(key: string): void {
    const before = this.#objects.get(key);
    if (this.#objects.delete(key)) this.#deps.onChange?.(key, before);
  }
}

function keyOf({ metadata }: Watched): string {
  return metadata?.namespace ? `${metadata.namespace}/${metadata.name}` : `${metadata?.name}`;
}

// One watch of a kind for all who want to know in a process. It begins when somebody does, and ends when nobody has for a
// while, unless it is one that lasts: to list what every change asks about costs more than to watch it.

/** A watch that nobody asked for this long ends. */
const idleMs = 600_000;
const lookEveryMs = 60_000;

/** A change of one object; `undefined` before it came and after it went. */
export interface Change<T> {
  key: string;
  before: T | undefined;
  now: T | undefined;
}

export class SharedWatch<T> {
  readonly #kube: Kube;
  readonly #resource: Resource<T>;
  readonly #lasts: boolean;
  readonly #listeners = new Set<(change: Change<T>) => void>();
  #informer: Informer<T> | undefined;
  #askedAt = 0;

  constructor(kube: Kube, resource: Resource<T>, { lasts = false }: { lasts?: boolean } = {}) {
    this.#kube = kube;
    this.#resource = resource;
    this.#lasts = lasts;
  }

  /** Whether all changes up to about now are known, and told to who listens. */
  get isFresh(): boolean {
    return this.#informer?.isFresh ?? false;
  }

  /** What is known of an object; says nothing while it is not fresh. */
  get(key: string): T | undefined {
    return this.#informer?.get(key);
  }

  /** What is known of all objects; says nothing while it is not fresh. */
  values(): Iterable<T> {
    return this.#informer?.values() ?? [];
  }

  /** Begins to watch where that has not begun; without streams it never does. */
  ask(now = Date.now()): void {
    this.#askedAt = now;
    if (this.#informer || !this.#kube.watch) return;
    const stop = new AbortController();
    const informer = new Informer(this.#resource, {
      kube: this.#kube,
      signal: stop.signal,
      onChange: (key, before) => this.#tell({ key, before, now: informer.get(key) }),
    });
    this.#informer = informer;
    void informer.start();
    if (this.#lasts) return;
    const timer = setInterval(() => this.#endWhenIdle(stop), lookEveryMs);
    stop.signal.addEventListener("abort", () => clearInterval(timer));
    (timer as { unref?: () => void }).unref?.();
  }

  /** Tells of every change from now on, until what is returned is called. */
  listen(listener: (change: Change<T>) => void): () => void {
    this.ask();
    this.#listeners.add(listener);
    return () => {
      this.#listeners.delete(listener);
      this.#askedAt = Date.now();
    };
  }

  #tell(change: Change<T>): void {
    for (const listener of this.#listeners) listener(change);
  }

  #endWhenIdle(stop: AbortController): void {
    if (this.#listeners.size > 0 || Date.now() - this.#askedAt < idleMs) return;
    this.#informer = undefined;
    stop.abort();
  }
}
