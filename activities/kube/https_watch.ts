import type { IncomingMessage } from "node:http";
import { request, type RequestOptions } from "node:https";
import { createInterface } from "node:readline";
import { type KubeConfig, Watch } from "./client_node.ts";
import { FollowedConfig } from "./followed_config.ts";

/** Milliseconds that a stream may take to open; after that the API server counts as unreachable. */
const openMs = 20_000;

type Query = Record<string, string | number | boolean | undefined>;
// The type of the handler is the library's, which passes on what the server sends without checking it.
type Handler = Parameters<Watch["watch"]>[2];

/**
 * A Watch that notices when its stream ends, stalls or is aborted: under Deno the library's own Watch does not, and
 * waits for ever.
 */
export class HttpsWatch extends Watch {
  readonly #quietMs: number;

  /** A stream without an event for `quietMs` is ended; an API server sends at least a bookmark every minute. */
  constructor(config: KubeConfig, quietMs = 100_000) {
    super(config);
    this.#quietMs = quietMs;
  }

  /**
   * Streams events to the handler; calls `done` exactly once, with a TimeoutError if no event arrives for `quietMs`.
   * Resolves when the stream is open, or has ended before that.
   */
  override async watch(...[path, query, handler, done]: Parameters<Watch["watch"]>): Promise<AbortController> {
    const controller = new AbortController();
    const stream = new EventStream({ handler, done, quietMs: this.#quietMs, isOld: changing(this.config) });
    controller.signal.addEventListener("abort", () => stream.end(null), { once: true });
    try {
      const options: RequestOptions = {};
      await this.config.applyToHTTPSOptions(options);
      await stream.open(watchUrl(this.config, path, query), { ...options, agent: false });
    } catch (error) {
      stream.end(error);
    }
    return controller;
  }
}

interface StreamEnds {
  handler: Handler;
  done: (error: unknown) => void;
  quietMs: number;
  /** Returns whether the credentials have changed since the stream was opened. */
  isOld: () => boolean;
}

// Returns a function that reports whether the credentials have changed since this call. The API server checks
// credentials only when a stream opens, so a stream would continue with revoked ones.
function changing(config: KubeConfig): () => boolean {
  if (!(config instanceof FollowedConfig)) return () => false;
  const opened = config.revision();
  return () => config.revision() !== opened;
}

class EventStream {
  readonly #ends: StreamEnds;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #close: () => void = () => {};
  #isOver = false;
  readonly #begun = Promise.withResolvers<void>();

  constructor(ends: StreamEnds) {
    this.#ends = ends;
  }

  open(url: URL, options: RequestOptions): Promise<void> {
    const call = request(url, options, (response) => this.#read(response));
    this.#close = () => call.destroy();
    call.on("error", (error) => this.end(error));
    call.end();
    this.#expectMore(Math.min(this.#ends.quietMs, openMs));
    return this.#begun.promise;
  }

  end(error: unknown): void {
    if (this.#isOver) return;
    this.#isOver = true;
    clearTimeout(this.#timer);
    this.#close();
    this.#begun.resolve();
    this.#ends.done(error);
  }

  #read(response: IncomingMessage): void {
    if (response.statusCode !== 200) {
      return this.end(Object.assign(new Error(`HTTP ${response.statusCode}`), { statusCode: response.statusCode }));
    }
    this.#expectMore();
    this.#begun.resolve();
    response.on("error", (error) => this.end(error));
    response.on("close", () => this.end(null));
    const lines = createInterface(response);
    lines.on("line", (line) => this.#tell(line));
    // The line reader passes the response's errors on, and throws them if it has no listener.
    lines.on("error", (error) => this.end(error));
  }

  #tell(line: string): void {
    if (this.#isOver) return;
    this.#expectMore();
    let event: { type: string; object: unknown };
    try {
      event = JSON.parse(line);
    } catch {
      // The connection broke in the middle of this line; the next watch delivers the event again.
      return;
    }
    this.#ends.handler(event.type, event.object, event);
    // Changed credentials end the stream at its next event, which is at the latest the bookmark of the next minute. The
    // caller then starts a new watch from that event.
    if (this.#ends.isOld()) this.end(null);
  }

  #expectMore(ms = this.#ends.quietMs): void {
    clearTimeout(this.#timer);
    const expired = new DOMException(`no event within ${ms / 1000} s`, "TimeoutError");
    this.#timer = setTimeout(() => this.end(expired), ms);
  }
}

function watchUrl(config: KubeConfig, path: string, query: Query): URL {
  // `path` is not resolved against the server's URL: behind a proxy for many clusters that URL has a path of its own.
  const url = new URL((config.getCurrentCluster()?.server ?? "").replace(/\/$/, "") + path);
  const all: Query = { watch: true, allowWatchBookmarks: true, ...query };
  for (const [name, value] of Object.entries(all)) {
    if (value !== undefined) url.searchParams.set(name, String(value));
  }
  return url;
}
