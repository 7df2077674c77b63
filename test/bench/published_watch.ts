/** Sees from outside, through the API server, when both secrets of a pool's revision are there. */
import { secretRevisionAnnotation } from "../../activities/config/names.ts";
import { namesOf, secretsNamespace } from "../../profiles/mod.ts";
import { openSource, type Source } from "../../deploy/local/observer/api_source.ts";
import type { ApiObject } from "../../deploy/local/observer/pool_facts.ts";

const path = `/api/v1/namespaces/${secretsNamespace}/secrets`;

/** Notes the moment (ms, as performance.now) at which each pool was published, as long as it is open. */
export class PublishedWatch {
  readonly published = new Map<string, number>();
  readonly #poolOf = new Map<string, string>();
  readonly #missing = new Map<string, Set<string>>();
  readonly #closing = new AbortController();
  readonly #source: Source;
  readonly #done = Promise.withResolvers<void>();

  private constructor(source: Source, pools: string[], readonly revision: string) {
    this.#source = source;
    for (const pool of pools) this.#expect(pool);
  }

  /** Resolves when it watches. */
  static async open(kubeconfig: string, pools: string[], revision = "1"): Promise<PublishedWatch> {
    const watch = new PublishedWatch(await openSource(kubeconfig), pools, revision);
    const { version, objects } = await watch.#source.list(path);
    objects.forEach((object) => watch.#see(object));
    void watch.#follow(version);
    return watch;
  }

  /** Whether all were published within so many seconds. */
  async all(seconds: number): Promise<boolean> {
    let timer: ReturnType<typeof setTimeout> | undefined;
    const late = new Promise<void>((resolve) => timer = setTimeout(resolve, seconds * 1000));
    await Promise.race([this.#done.promise, late]).finally(() => clearTimeout(timer));
    return this.#missing.size === 0;
  }

  [Symbol.dispose](): void {
    this.#closing.abort();
    this.#source.close();
  }

  #expect(pool: string): void {
    const { bootstrap, provisioning } = namesOf({ namespace: "kube-system", name: pool });
    this.#missing.set(pool, new Set([bootstrap, provisioning]));
    for (const secret of [bootstrap, provisioning]) this.#poolOf.set(secret, pool);
  }

  async #follow(version: string): Promise<void> {
    const { signal } = this.#closing;
    let from = version;
    while (!signal.aborted) {
      const end = await this.#source.watch({ path, version: from, signal }, ({ object }) => {
        from = object.metadata?.resourceVersion ?? from;
        this.#see(object);
      });
      if (end === "expired") throw new Error(`Cannot follow "${path}" after version ${from}: the server forgot`);
    }
  }

  #see({ metadata }: ApiObject): void {
    const pool = this.#poolOf.get(metadata?.name ?? "");
    if (pool === undefined || metadata?.annotations?.[secretRevisionAnnotation] !== this.revision) return;
    const missing = this.#missing.get(pool);
    missing?.delete(metadata.name ?? "");
    if (missing?.size !== 0) return;
    this.#missing.delete(pool);
    this.published.set(pool, performance.now());
    if (this.#missing.size === 0) this.#done.resolve();
  }
}
