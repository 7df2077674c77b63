/**
 * How requests reach the API server: at a bounded rate, later where it says so, each with an end, and each sent once.
 *
 * Once, because not everything that we ask for is the same when it is done twice. `node:http` under Deno sends a request
 * again when a kept connection breaks under it; the client's own dispatcher, which opens its sockets itself, does not, as
 * a test with a faulty server shows for every verb: the caller hears of the break, and a caller knows whether it was done.
 * It is asked directly: with `fetch` around it, as the client does, a request takes five times the processor time
 * (0.74 and 0.15 ms, Deno 2.9). An answer may stop within its body without a sign, so each request has an end.
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
    const dispatcher = request.getDispatcher() as Dispatcher | undefined;
    // A server without TLS of its own has none.
    const answer = dispatcher ? await ask(dispatcher, request) : await this.#library.send(request).toPromise();
    const { httpStatusCode, headers, body } = answer;
    const text = await body.text();
    return new ResponseContext(httpStatusCode, headers, {
      text: () => Promise.resolve(text),
      binary: () => Promise.resolve(Buffer.from(text)),
      stream: () => null,
    });
  }
}

/** What is used of undici's dispatcher, which the client makes and hands on untyped. */
interface Dispatcher {
  request(options: object): Promise<{
    statusCode: number;
    headers: Record<string, string | string[] | undefined>;
    body: { text(): Promise<string> };
  }>;
}

/** The answer as the client's own library gives it; rejects as that does too. */
async function ask(
  dispatcher: Dispatcher,
  request: RequestContext,
): Promise<Pick<ResponseContext, "httpStatusCode" | "headers"> & { body: { text(): Promise<string> } }> {
  const { origin, pathname, search } = new URL(request.getUrl());
  const [method, body] = [request.getHttpMethod(), request.getBody()];
  const options = { origin, path: `${pathname}${search}`, method, headers: request.getHeaders(), body };
  const failed = (cause: unknown): never => {
    throw new TypeError("fetch failed", { cause });
  };
  const answer = await dispatcher.request({ ...options, signal: request.getSignal() }).catch(failed);
  const text = (): Promise<string> => answer.body.text().catch(failed);
  const headers = Object.entries(answer.headers).map(([name, value = ""]) => [name, String(value)]);
  return { httpStatusCode: answer.statusCode, headers: Object.fromEntries(headers), body: { text } };
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
