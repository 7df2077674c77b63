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
import { IsomorphicFetchHttpLibrary, ResponseContext } from "./client_node.ts";
import { asyncLocalStorage } from "@temporalio/activity";

/** Longer than any answer takes of which the first byte came in time. */
const wholeMs = 60_000;
/** Times that a request is sent which the API server did not let in. */
const tries = 3;
/** What is asked for longer is left to the caller's own next try. */
const longestPauseMs = 5_000;

interface PacedOptions {
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
      new DOMException(`no complete response within ${this.#wholeMs / 1000} seconds`, "TimeoutError");
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

// How many requests a process may make, so that no storm of its own can take an API server down.

/** Requests a second that are always allowed, and how many may come at once after a rest. */
export interface Rate {
  qps: number;
  burst: number;
}

/**
 * A bound for a fault of ours, not a pace: what is too much for an API server at the moment it says itself, by its priority
 * and fairness, as it shares itself out. A new pool asks for twenty: 100 a second let 5 of them through.
 */
const usualRate: Rate = { qps: 1_000, burst: 2_000 };

/** A token bucket. Who comes when it is empty is told how long to wait, in the order of coming. */
export class RequestRate {
  readonly #rate: Rate;
  #tokens: number;
  #at: number | undefined;

  constructor(rate: Rate = usualRate) {
    this.#rate = rate;
    this.#tokens = rate.burst;
  }

  /** Takes a place in the order; milliseconds until it has come. `now` is epoch ms. */
  take(now: number): number {
    const { qps, burst } = this.#rate;
    const passed = Math.max(0, now - (this.#at ?? now));
    this.#at = now;
    this.#tokens = Math.min(burst, this.#tokens + passed * qps / 1000) - 1;
    return this.#tokens >= 0 ? 0 : Math.ceil(-this.#tokens * 1000 / qps);
  }
}

// A request of the API server in words of which there are few: no names, so that they can be labels of metrics.

/** What was asked, as the API server's own rules of access call it. */
interface RequestFacts {
  verb: "get" | "list" | "create" | "update" | "patch" | "delete" | "deletecollection" | "other";
  /** As "pods" or "pods/eviction"; "other" where the path is of no object. */
  resource: string;
}

/** What became of a request. */
export interface RequestOutcome extends RequestFacts {
  /** HTTP status; 0 without an answer. */
  code: number;
  seconds: number;
}

/** Told of each request; must not throw. */
export type RequestsTold = (outcome: RequestOutcome) => void;

// Not at its beginning: behind a proxy for many clusters the server has a path of its own.
const objectPath =
  /\/(?:api\/v\d\w*|apis\/[^/]+\/v\d\w*)\/(?:namespaces\/[^/]+\/)?([a-z]+)(?:\/([^/]+))?(?:\/([a-z]+))?$/;
const verbs = { POST: "create", PUT: "update", PATCH: "patch" } as const;

/** What a request asks for. */
export function requestFactsOf(method: string, url: string): RequestFacts {
  const [, kind, name, part] = objectPath.exec(new URL(url).pathname) ?? [];
  if (kind === undefined) return { verb: "other", resource: "other" };
  return { verb: verbOf(method, name !== undefined), resource: part === undefined ? kind : `${kind}/${part}` };
}

function verbOf(method: string, isNamed: boolean): RequestFacts["verb"] {
  if (method === "GET") return isNamed ? "get" : "list";
  if (method === "DELETE") return isNamed ? "delete" : "deletecollection";
  return verbs[method as keyof typeof verbs] ?? "other";
}

// Whether the try of an activity that runs here is still wanted.

/**
 * Stops a try that was cancelled or timed out, before its next effect; another may be at work already. Outside of an
 * activity nothing is called off.
 */
export function throwIfCalledOff(): void {
  asyncLocalStorage.getStore()?.cancellationSignal.throwIfAborted();
}
