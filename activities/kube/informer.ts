/**
 * Lists a kind of object once and then watches it, and keeps no more of each object than the resource's schema reads.
 * Each page or event is parsed at once and dropped, so ten thousand machines take only the memory of their parsed
 * fields.
 */
import type { Logger } from "@temporalio/common";
import { setTimeout as pause } from "node:timers/promises";
import { isDeepStrictEqual } from "node:util";
import { homeOf, type Kube, listThere, namespaceOf } from "./client.ts";
import { eachPage, type GroupedResource, type PageOf, type Resource } from "./resources.ts";
import { statusOf } from "./status.ts";

export interface InformerDeps<T> {
  kube: Kube;
  /**
   * Called when the parsed part of an object changed, and when it appeared or was deleted; `before` is the previous
   * value.
   */
  onChange?: (key: string, before: T | undefined) => void;
  log?: Pick<Logger, "warn">;
  /** Aborting it ends the watch. */
  signal: AbortSignal;
}

/** Milliseconds after the end of a stream for which known objects still count as fresh. */
const gapMs = 15_000;
/** First pause (ms) before an ended stream is opened again; each further pause is longer, up to `longestRestMs`. */
const restMs = 1_000;
const longestRestMs = 15_000;
/** After a stream that lasted longer than this (ms), the pause before the next one is `restMs` again. */
const soundMs = 5_000;

interface Watched {
  metadata?: { name?: string; namespace?: string; resourceVersion?: string };
}

/** Keys are "namespace/name", or the name of an object without a namespace. */
export class Informer<T> {
  readonly #resource: Resource<T>;
  readonly #deps: InformerDeps<T>;
  readonly #objects = new Map<string, T>();
  /** Keys of objects by the name and value of each of their groups. */
  readonly #groups = new Map<string, Set<string>>();
  readonly #ready = Promise.withResolvers<void>();
  /** Resource version of the last event; undefined if everything has to be listed. */
  #version: string | undefined;
  #freshUntil = 0;
  /** The last error of the stream; "" once it is open again. */
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

  /** Returns the objects whose `groupsOf` has this value under this name, with their keys, from an index. */
  group(name: string, value: string): [key: string, facts: T][] {
    const keys = this.#groups.get(groupKey(name, value)) ?? [];
    return [...keys].map((key) => [key, this.#objects.get(key) as T]);
  }

  /** Whether all changes up to about now are known. */
  get isFresh(): boolean {
    return performance.now() < this.#freshUntil;
  }

  /** Watches until the signal aborts; resolves after the first complete list, or at an abort before that. */
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
      // Random, so that not all processes list at once after the API server restarts. An abort ends the pause early.
      const ms = rest * (0.5 + Math.random() / 2);
      await pause(ms, undefined, { ref: false, signal }).catch(() => undefined);
    }
    this.#freshUntil = 0;
    this.#objects.clear();
    this.#groups.clear();
  }

  async #listAndFollow(): Promise<void> {
    this.#version ??= await this.#list();
    this.#ready.resolve();
    await this.#follow(this.#version);
  }

  // An object that was deleted since the last list is on no page, so it is removed at the end.
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
    // Nodes, and pods of one namespace, are the only kinds of the core group that are watched.
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
      this.#version = undefined; // the resource version has expired, so later events are lost
      this.#freshUntil = 0;
      resolve(undefined);
    }, end);
    const stop = (): void => stream.abort();
    signal.addEventListener("abort", stop, { once: true });
    if (signal.aborted) stop();
    // A stream that could not be opened has called `end` by now.
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
    // A stream that timed out may have missed changes since its last event, so nothing counts as fresh.
    const isStale = error instanceof Error && error.name === "TimeoutError";
    this.#freshUntil = isStale ? 0 : Math.min(this.#freshUntil, performance.now() + gapMs);
    return error;
  }

  // Logs why the watch failed. A refusal, unlike an overload or outage, may mean that the resource version is too old,
  // so all objects are listed anew.
  #note(error: unknown): void {
    const { log, signal } = this.#deps;
    const status = statusOf(error) ?? (error as { statusCode?: number }).statusCode;
    if (status !== undefined && ![429, 500, 502, 503].includes(status)) this.#version = undefined;
    const { message } = error as Error;
    // The same failure is logged once, because an API server may be unreachable for an hour.
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
    const data = this.#read(object);
    if (data === undefined) {
      const state = "a field has an unexpected value; ignoring this version of the object";
      return void this.#deps.log?.warn(`Failed to read ${this.#resource.plural} "${key}": ${state}`, {});
    }
    const before = this.#objects.get(key);
    this.#objects.set(key, data);
    // Most updates of nodes and machines are heartbeats, which leave the parsed facts unchanged.
    if (isDeepStrictEqual(before, data)) return;
    this.#regroup(key, before, data);
    this.#deps.onChange?.(key, before);
  }

  // An exception in a transform of the schema escapes `safeParse`. Here it would end the process, or keep every list
  // from completing, because of a single object.
  #read(object: Watched): T | undefined {
    try {
      return this.#resource.schema.safeParse(object).data;
    } catch {
      return undefined;
    }
  }

  #remove(key: string): void {
    const before = this.#objects.get(key);
    if (!this.#objects.delete(key)) return;
    this.#regroup(key, before, undefined);
    this.#deps.onChange?.(key, before);
  }

  #regroup(key: string, before: T | undefined, now: T | undefined): void {
    for (const group of this.#groupsOf(before)) {
      const keys = this.#groups.get(group);
      keys?.delete(key);
      if (keys?.size === 0) this.#groups.delete(group);
    }
    for (const group of this.#groupsOf(now)) {
      this.#groups.set(group, (this.#groups.get(group) ?? new Set()).add(key));
    }
  }

  #groupsOf(facts: T | undefined): string[] {
    if (facts === undefined) return [];
    const { groupsOf } = this.#resource as Partial<GroupedResource<T>>;
    return Object.entries(groupsOf?.(facts) ?? {}).filter(([, value]) => value !== "").map(([name, value]) =>
      groupKey(name, value)
    );
  }
}

function groupKey(name: string, value: string): string {
  return `${name} ${value}`;
}

function keyOf({ metadata }: Watched): string {
  return metadata?.namespace ? `${metadata.namespace}/${metadata.name}` : `${metadata?.name}`;
}

// One watch per kind for all callers in a process, because listing a kind again for each change of a pool costs more
// than watching it. The watch starts with the first caller, and ends after `idleMs` without callers, unless it was
// created with `lasts`.

/** A watch without callers ends after this time (ms). */
const idleMs = 600_000;
const lookEveryMs = 60_000;

/** A change of one object: `before` is undefined if it was created, and `now` if it was deleted. */
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

  /** Whether all changes up to about now are known, and reported to the listeners. */
  get isFresh(): boolean {
    return this.#informer?.isFresh ?? false;
  }

  /**
   * Returns what is known of an object; undefined without a watch, and possibly outdated while the watch is not fresh.
   */
  get(key: string): T | undefined {
    return this.#informer?.get(key);
  }

  /**
   * Returns what is known of all objects; empty without a watch, and possibly outdated while the watch is not fresh.
   */
  values(): Iterable<T> {
    return this.#informer?.values() ?? [];
  }

  /** Returns the known objects of a group (see `Informer.group`); possibly outdated while the watch is not fresh. */
  group(name: string, value: string): [key: string, facts: T][] {
    return this.#informer?.group(name, value) ?? [];
  }

  /**
   * Starts the watch if it is not running, and keeps it running for at least `idleMs`; does nothing in a process
   * without a watch client.
   */
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

  /** Starts the watch, and reports every change until the returned function is called. */
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
