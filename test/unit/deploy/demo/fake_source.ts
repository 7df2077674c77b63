import type { Listing, Source, SourceEvent, WatchEnd } from "../../../../deploy/local/observer/api_source.ts";
import type { ApiObject } from "../../../../deploy/local/observer/pool_facts.ts";

interface OpenWatch {
  path: string;
  version: string;
  tell: (event: SourceEvent) => void;
  end: (end: WatchEnd) => void;
}

/** An API server in memory: tests change the lists, send events, and cut watches. */
export class FakeSource implements Source {
  readonly collections = new Map<string, ApiObject[]>();
  version = "1";
  isClosed = false;
  readonly #watches: OpenWatch[] = [];
  #waiting: { path: string; resolve: (watch: OpenWatch) => void }[] = [];

  list(path: string): Promise<Listing> {
    return Promise.resolve({ version: this.version, objects: [...this.collections.get(path) ?? []] });
  }

  watch(
    { path, version, signal }: { path: string; version: string; signal: AbortSignal },
    tell: (event: SourceEvent) => void,
  ): Promise<WatchEnd> {
    const { promise, resolve } = Promise.withResolvers<WatchEnd>();
    const open = { path, version, tell, end: resolve };
    signal.addEventListener("abort", () => resolve("ended"), { once: true });
    this.#watches.push(open);
    for (const each of this.#waiting.filter((each) => each.path === path)) each.resolve(open);
    this.#waiting = this.#waiting.filter((each) => each.path !== path);
    return promise;
  }

  close(): void {
    this.isClosed = true;
  }

  /** Changes the collection and sends the event to the newest watch. */
  tell(path: string, type: "ADDED" | "MODIFIED" | "DELETED", object: ApiObject): void {
    const others = (this.collections.get(path) ?? []).filter(({ metadata }) =>
      metadata?.name !== object.metadata?.name
    );
    this.collections.set(path, type === "DELETED" ? others : [...others, object]);
    this.newest(path)?.tell({ type, object });
  }

  newest(path: string): OpenWatch | undefined {
    return this.#watches.findLast((watch) => watch.path === path);
  }

  /** Resolves with the next watch of the path that is opened after this call. */
  opened(path: string): Promise<OpenWatch> {
    return new Promise((resolve) => this.#waiting.push({ path, resolve }));
  }
}
