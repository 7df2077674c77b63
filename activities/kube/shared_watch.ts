/**
 * One watch of a kind for all who want to know in a process. It begins when somebody does, and ends when nobody has for a
 * while, unless it is one that lasts: to list what every change asks about costs more than to watch it.
 */
import type { Kube } from "./client.ts";
import { Informer } from "./informer.ts";
import type { Resource } from "./resources.ts";

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
