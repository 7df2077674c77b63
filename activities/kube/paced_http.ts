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
import { requestFactsOf, type RequestsTold } from "./request_facts.ts";
import type { RequestRate } from "./request_rate.ts";

/** Longer than any answer takes of which the first byte came in time. */
const wholeMs = 60_000;
/** Times that a request is sent which the API server did not let in. */
const tries = 3;
/** What is asked for longer is left to the caller's own next try. */
const longestPauseMs = 5_000;

export interface PacedOptions {
  ms?: number;
  told?: RequestsTold | undefined;
  /** Puts other credentials into a request that was not let in; false where there are none. */
  renew?: (request: RequestContext) => Promise<boolean>;
}

export class PacedHttp implements PromiseHttpLibrary {
  readonly #rate: RequestRate;
  readonly #wholeMs: number;
  readonly #told: RequestsTold | undefined;
  readonly #renew: ((request: RequestContext) => Promise<boolean>) | undefined;
  readonly #library = new IsomorphicFetchHttpLibrary();

  constructor(rate: RequestRate, { ms = wholeMs, told, renew }: PacedOptions = {}) {
    this.#rate = rate;
    this.#wholeMs = ms;
    this.#told = told;
    this.#renew = renew;
  }

  async send(request: RequestContext): Promise<ResponseContext> {
    for (let nth = 1;; nth++) {
      // Whose lease runs out stops working: that is never made to wait.
      if (!isLease(request)) await rest(this.#rate.take(Date.now()));
      // A try that was called off while it waited, or before, changes nothing any more: another may be at work.
      if (request.getHttpMethod() !== "GET") throwIfCalledOff();
      const response = await this.#measured(request);
      if (response.httpStatusCode === 401 && nth < tries && await this.#renew?.(request)) continue;
      const ms = nth < tries ? askedPause(request, response) : undefined;
      if (ms === undefined || ms > longestPauseMs) return response;
      await rest(ms);
    }
  }

  async #measured(request: RequestContext): Promise<ResponseContext> {
    if (!this.#told) return await this.#whole(request);
    const begun = performance.now();
    let code = 0;
    try {
      const response = await this.#whole(request);
      code = response.httpStatusCode;
      return response;
    } finally {
      const facts = requestFactsOf(request.getHttpMethod(), request.getUrl());
      this.#told({ ...facts, code, seconds: (performance.now() - begun) / 1000 });
    }
  }

  // The body is read here, so that the end holds for all of it.
  async #whole(request: RequestContext): Promise<ResponseContext> {
    const dispatcher = request.getDispatcher() as Dispatcher | undefined;
    // A server without TLS of its own has none.
    const { answer, stop } = dispatcher ? ask(dispatcher, request) : this.#askLibrary(request);
    const late = (): DOMException =>
      new DOMException(`no whole answer within ${this.#wholeMs / 1000} seconds`, "TimeoutError");
    const timer = setTimeout(() => stop(late()), this.#wholeMs);
    try {
      const { status, headers, text } = await answer;
      return new ResponseContext(status, headers, {
        text: () => Promise.resolve(text),
        binary: () => Promise.resolve(Buffer.from(text)),
        stream: () => null,
      });
    } finally {
      clearTimeout(timer);
    }
  }

  #askLibrary(request: RequestContext): Exchange {
    const { promise: stopped, reject } = Promise.withResolvers<never>();
    const controller = new AbortController();
    request.setSignal(controller.signal);
    const read = async (): Promise<Answer> => {
      const { httpStatusCode: status, headers, body } = await this.#library.send(request).toPromise();
      return { status, headers, text: await body.text() };
    };
    const stop = (reason: Error): void => {
      reject(reason);
      controller.abort(reason);
    };
    return { answer: Promise.race([read(), stopped]), stop };
  }
}

interface Answer {
  status: number;
  headers: Record<string, string>;
  text: string;
}

/** An answer that is on its way. */
interface Exchange {
  /** Whole; rejects as the client's own library does, or with the reason of the stop. */
  answer: Promise<Answer>;
  stop(reason: Error): void;
}

/** What is used of undici's dispatcher, which the client makes and hands on untyped. */
interface Dispatcher {
  dispatch(options: object, handler: ResponseHandler): unknown;
}

interface Sending {
  abort(reason: Error): void;
}

interface ResponseHandler {
  onRequestStart(sending: Sending): void;
  onResponseStart(sending: Sending, status: number, headers: Record<string, string | string[] | undefined>): void;
  onResponseData(sending: Sending, chunk: Buffer): void;
  onResponseEnd(): void;
  onResponseError(sending: Sending, error: Error): void;
}

/** By the handler itself: what undici makes of it for others, a stream, takes as much again as the request. */
function ask(dispatcher: Dispatcher, request: RequestContext): Exchange {
  const { origin, pathname, search } = new URL(request.getUrl());
  const [method, body] = [request.getHttpMethod(), request.getBody()];
  const options = { origin, path: `${pathname}${search}`, method, headers: request.getHeaders(), body };
  const { promise: answer, resolve, reject } = Promise.withResolvers<Answer>();
  let [status, headers]: [number, Record<string, string>] = [0, {}];
  const chunks: Buffer[] = [];
  let sending: Sending | undefined;
  let stopped: Error | undefined;
  dispatcher.dispatch(options, {
    // It may have waited for a connection until now.
    onRequestStart: (begun) => stopped ? begun.abort(stopped) : sending = begun,
    onResponseStart: (_, code, fields) => {
      [status, headers] = [code, textsOf(fields)];
    },
    onResponseData: (_, chunk) => void chunks.push(chunk),
    onResponseEnd: () => resolve({ status, headers, text: Buffer.concat(chunks).toString() }),
    onResponseError: (_, cause) => reject(new TypeError("fetch failed", { cause })),
  });
  const stop = (reason: Error): void => {
    stopped = reason;
    reject(reason);
    sending?.abort(reason);
  };
  return { answer, stop };
}

function textsOf(headers: Record<string, string | string[] | undefined>): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([name, value = ""]) => [name, String(value)]));
}

/** Milliseconds after which to send it again; undefined for an answer that is one. */
function askedPause(request: RequestContext, { httpStatusCode, headers }: ResponseContext): number | undefined {
  if (httpStatusCode < 400) return undefined;
  // Of an eviction it is what a PodDisruptionBudget says, and for the drain to judge.
  if (new URL(request.getUrl()).pathname.endsWith("/eviction")) return undefined;
  const isLetIn = httpStatusCode !== 429;
  // Elsewhere it may have been done.
  const isRepeatable = request.getHttpMethod() === "GET" && httpStatusCode >= 500;
  const seconds = Number(headers["retry-after"] ?? (isLetIn ? NaN : 1));
  return (isLetIn && !isRepeatable) || Number.isNaN(seconds) ? undefined : seconds * 1000;
}

function isLease(request: RequestContext): boolean {
  // Not at its beginning: behind a proxy for many clusters the server has a path of its own.
  return request.getUrl().includes("/apis/coordination.k8s.io/");
}

async function rest(ms: number): Promise<void> {
  if (ms > 0) await pause(ms);
}
