/** Records when objects of a collection first had certain states, as seen through the API server. */
import { setTimeout as pause } from "node:timers/promises";
import { openSource, type Source } from "../../deploy/local/observer/api_source.ts";
import { waitUntil } from "../../deploy/local/process/wait_until.ts";
import type { ApiObject } from "../../deploy/local/observer/pool_facts.ts";

/**
 * The objects to watch: the path of their collection, and a function that returns the key under which the moment is
 * recorded, or undefined while there is nothing to record.
 */
export interface Sight {
  path: string;
  keyOf: (object: ApiObject) => string | undefined;
}

/** Retry interval while the API server is down (ms). */
const again = 100;

export class MomentWatch {
  /** The moment at which each key was first seen, as returned by performance.now(). */
  readonly moments = new Map<string, number>();
  readonly #listeners = new Set<(key: string) => void>();
  readonly #closing = new AbortController();
  readonly #source: Source;
  readonly #sight: Sight;

  private constructor(source: Source, sight: Sight) {
    this.#source = source;
    this.#sight = sight;
  }

  /** Resolves when the watch is open. */
  static async open(kubeconfig: string, sight: Sight): Promise<MomentWatch> {
    const watch = new MomentWatch(await openSource(kubeconfig), sight);
    let version = "";
    // The first attempts can fail, because the API server does not serve a new kind immediately.
    const list = async (): Promise<void> => void (version = await watch.#list());
    await waitUntil(list, { what: `a list of "${sight.path}"`, timeoutMs: 30_000 });
    void watch.#follow(version);
    return watch;
  }

  /** Returns whether all of these keys are seen within the given seconds. */
  async all(keys: readonly string[], seconds: number): Promise<boolean> {
    const missing = new Set(keys.filter((key) => !this.moments.has(key)));
    if (missing.size === 0) return true;
    const { promise, resolve } = Promise.withResolvers<boolean>();
    const hear = (key: string): void => {
      missing.delete(key);
      if (missing.size === 0) resolve(true);
    };
    this.#listeners.add(hear);
    const timer = setTimeout(() => resolve(false), seconds * 1000);
    return await promise.finally(() => {
      clearTimeout(timer);
      this.#listeners.delete(hear);
    });
  }

  [Symbol.dispose](): void {
    this.#closing.abort();
    this.#source.close();
  }

  async #list(): Promise<string> {
    const { version, objects } = await this.#source.list(this.#sight.path);
    objects.forEach((object) => this.#see(object));
    return version;
  }

  async #follow(version: string): Promise<void> {
    const { path } = this.#sight;
    const { signal } = this.#closing;
    for (let from: string | undefined = version; !signal.aborted;) {
      if (from !== undefined) {
        await this.#source.watch({ path, version: from, signal }, ({ object }) => this.#see(object));
      }
      await pause(again, undefined, { signal }).catch(() => {});
      // Lists again before the next watch: a restarted API server may have forgotten earlier events. The list fails
      // while the API server does not respond.
      from = await this.#list().catch(() => undefined);
    }
  }

  #see(object: ApiObject): void {
    const key = this.#sight.keyOf(object);
    if (key === undefined || this.moments.has(key)) return;
    this.moments.set(key, performance.now());
    for (const hear of this.#listeners) hear(key);
  }
}
