/**
 * How requests reach the API server: at a bounded rate, later where it says so, each with an end, and each sent once.
 *
 * Once, because not everything that we ask for is the same when it is done twice. `node:http` under Deno sends a request
 * again when a kept connection breaks under it; the client's own library, which opens its sockets itself, does not, as a
 * test with a faulty server shows for every verb: the caller hears of the break, and a caller knows whether it was done.
 * What that library lacks under Deno is an end for an answer that breaks off within its body: it waits for ever.
 */
import type { PromiseHttpLibrary, RequestContext } from "@kubernetes/client-node";
import { Buffer } from "node:buffer";
import { setTimeout as pause } from "node:timers/promises";
import { throwIfCalledOff } from "./cancellation.ts";
import { IsomorphicFetchHttpLibrary, ResponseContext } from "./client_node.ts";
import type { RequestRate } from "./request_rate.ts";

/** Longer than any answer takes of which the first byte came in time. */
const wholeMs = 60_000;
/** Times that a request is sent which the API server did not let in. */
const tries = 3;
/** What is asked for longer is left to the caller's own next try. */
const longestPauseMs = 5_000;

export class PacedHttp implements PromiseHttpLibrary {
  readonly #rate: RequestRate;
  readonly #wholeMs: number;
  readonly #library = new IsomorphicFetchHttpLibrary();

  constructor(rate: RequestRate, ms = wholeMs) {
    this.#rate = rate;
    this.#wholeMs = ms;
  }

  async send(request: RequestContext): Promise<ResponseContext> {
    for (let nth = 1;; nth++) {
      // Whose lease runs out stops working: that is never made to wait.
      if (!isLease(request)) await rest(this.#rate.take(Date.now()));
      // A try that was called off while it waited, or before, changes nothing any more: another may be at work.
      if (request.getHttpMethod() !== "GET") throwIfCalledOff();
      const response = await this.#whole(request);
      const ms = nth < tries ? askedPause(request, response) : undefined;
      if (ms === undefined || ms > longestPauseMs) return response;
      await rest(ms);
    }
  }

  // The body is read here, so that the end holds for all of it.
  async #whole(request: RequestContext): Promise<ResponseContext> {
    const stop = new AbortController();
    const late = new DOMException(`no whole answer within ${this.#wholeMs / 1000} seconds`, "TimeoutError");
    const { promise: expiry, reject } = Promise.withResolvers<never>();
    const timer = setTimeout(() => {
      reject(late);
      stop.abort(late);
    }, this.#wholeMs);
    request.setSignal(stop.signal);
    try {
      return await Promise.race([this.#read(request), expiry]);
    } finally {
      clearTimeout(timer);
    }
  }

  async #read(request: RequestContext): Promise<ResponseContext> {
    const { httpStatusCode, headers, body } = await this.#library.send(request).toPromise();
    const text = await body.text();
    return new ResponseContext(httpStatusCode, headers, {
      text: () => Promise.resolve(text),
      binary: () => Promise.resolve(Buffer.from(text)),
      stream: () => null,
    });
  }
}

/** Milliseconds after which to send it again; undefined for an answer that is one. */
function askedPause(request: RequestContext, { httpStatusCode, headers }: ResponseContext): number | undefined {
  // Of an eviction it is what a PodDisruptionBudget says, and for the drain to judge.
  if (new URL(request.getUrl()).pathname.endsWith("/eviction")) return undefined;
  const isLetIn = httpStatusCode !== 429;
  // Elsewhere it may have been done.
  const isRepeatable = request.getHttpMethod() === "GET" && httpStatusCode >= 500;
  const seconds = Number(headers["retry-after"] ?? (isLetIn ? NaN : 1));
  return (isLetIn && !isRepeatable) || Number.isNaN(seconds) ? undefined : seconds * 1000;
}

function isLease(request: RequestContext): boolean {
  return new URL(request.getUrl()).pathname.startsWith("/apis/coordination.k8s.io/");
}

async function rest(ms: number): Promise<void> {
  if (ms > 0) await pause(ms);
}
