/**
 * Sends requests to the API server at a bounded rate, and waits if the server asks for a pause. Not every request is
 * idempotent, so a request is repeated only if the server rejected it (401, 429) or if it only reads. `node:http` under
 * Deno repeats a request when a kept connection breaks. The client's own dispatcher reports the error instead, as a
 * test with a faulty server shows for every verb, and callers then find out whether the request took effect. The
 * dispatcher is used directly: with `fetch` around it, as in the client, a request takes five times the processor time
 * (0.74 instead of 0.15 ms, Deno 2.9). Each request has a timeout, because a response may stop within its body without
 * an error.
 */
import type { PromiseHttpLibrary, RequestContext } from "@kubernetes/client-node";
import { Buffer } from "node:buffer";
import { setTimeout as pause } from "node:timers/promises";
import { IsomorphicFetchHttpLibrary, ResponseContext } from "./client_node.ts";
import { asyncLocalStorage } from "@temporalio/activity";

/** Maximum milliseconds for a whole response, from the request to the last byte. */
const wholeMs = 60_000;
/** Maximum attempts of one request that may be repeated. */
const tries = 3;
/**
 * Maximum pause (ms) before a repetition; a response that asks for a longer one is returned, and the caller retries.
 */
const longestPauseMs = 5_000;

interface PacedOptions {
  ms?: number;
  told?: RequestsTold | undefined;
  /** Replaces the credentials of a request that got a 401; returns false if there are no newer ones. */
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
      // Lease renewals never wait, because a process whose lease expires stops working.
      if (!isLease(request)) await rest(this.#rate.take(Date.now()));
      // A cancelled attempt of an activity must not change anything, because the next attempt may be running.
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

  // The body is read here, so that the timeout covers all of it.
  async #whole(request: RequestContext): Promise<ResponseContext> {
    const dispatcher = request.getDispatcher() as Dispatcher | undefined;
    // A request without TLS settings of its own has no dispatcher.
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

/** A request in progress. */
interface Exchange {
  /** The whole response; rejects as the client's own library does, or with the reason of the stop. */
  answer: Promise<Answer>;
  stop(reason: Error): void;
}

/** The used part of undici's dispatcher, which the client creates and passes on untyped. */
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

/** Sends a request through `dispatch` of undici, whose stream interface would double the processor time. */
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
    // A request that waited for a connection may have been stopped meanwhile.
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

/** Returns the milliseconds after which to repeat the request; undefined for a final response. */
function askedPause(request: RequestContext, { httpStatusCode, headers }: ResponseContext): number | undefined {
  if (httpStatusCode < 400) return undefined;
  // A 429 of an eviction reports a PodDisruptionBudget, which the drain evaluates.
  if (new URL(request.getUrl()).pathname.endsWith("/eviction")) return undefined;
  const isLetIn = httpStatusCode !== 429;
  // After a failure other than 429, only a GET is repeated, because any other request may have taken effect.
  const isRepeatable = request.getHttpMethod() === "GET" && httpStatusCode >= 500;
  const seconds = Number(headers["retry-after"] ?? (isLetIn ? NaN : 1));
  return (isLetIn && !isRepeatable) || Number.isNaN(seconds) ? undefined : seconds * 1000;
}

function isLease(request: RequestContext): boolean {
  // Not anchored at the start: behind a proxy for many clusters the server has a path of its own.
  return request.getUrl().includes("/apis/coordination.k8s.io/");
}

async function rest(ms: number): Promise<void> {
  if (ms > 0) await pause(ms);
}

// The request rate of a process, so that a burst of its own cannot overload an API server.

export interface Rate {
  /** Requests per second that are always allowed. */
  qps: number;
  /** Maximum requests at once, after a time without requests. */
  burst: number;
}

/**
 * Limits only a flood of requests by an internal error, because the API server itself limits clients (API Priority and
 * Fairness). The rate is high, because a new pool needs twenty requests: 100 per second would allow only 5 new pools
 * per second.
 */
const defaultRate: Rate = { qps: 1_000, burst: 2_000 };

/** A token bucket. A caller that finds it empty gets its waiting time, in the order of arrival. */
export class RequestRate {
  readonly #rate: Rate;
  #tokens: number;
  #at: number | undefined;

  constructor(rate: Rate = defaultRate) {
    this.#rate = rate;
    this.#tokens = rate.burst;
  }

  /** Takes the next position in the queue; returns the milliseconds to wait. `now` is epoch ms. */
  take(now: number): number {
    const { qps, burst } = this.#rate;
    const passed = Math.max(0, now - (this.#at ?? now));
    this.#at = now;
    this.#tokens = Math.min(burst, this.#tokens + passed * qps / 1000) - 1;
    return this.#tokens >= 0 ? 0 : Math.ceil(-this.#tokens * 1000 / qps);
  }
}

// Describes a request without names of objects, so that the number of label values in metrics stays small.

/** The request in the terms of the API server's authorization. */
interface RequestFacts {
  verb: "get" | "list" | "create" | "update" | "patch" | "delete" | "deletecollection" | "other";
  /** Such as "pods" or "pods/eviction"; "other" for a path such as "/metrics". */
  resource: string;
}

/** The outcome of a request. */
export interface RequestOutcome extends RequestFacts {
  /** HTTP status; 0 without a response. */
  code: number;
  seconds: number;
}

/** Called for each request; must not throw. */
export type RequestsTold = (outcome: RequestOutcome) => void;

// Not anchored at the start: behind a proxy for many clusters the server has a path of its own.
const objectPath =
  /\/(?:api\/v\d\w*|apis\/[^/]+\/v\d\w*)\/(?:namespaces\/[^/]+\/)?([a-z]+)(?:\/([^/]+))?(?:\/([a-z]+))?$/;
const verbs = { POST: "create", PUT: "update", PATCH: "patch" } as const;

/** Returns verb and resource of a request. */
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

// Whether the current attempt of an activity is still wanted.

/**
 * Throws in an attempt that was cancelled or timed out, before its next write, because another attempt may already be
 * running. Never throws outside an activity.
 */
export function throwIfCalledOff(): void {
  asyncLocalStorage.getStore()?.cancellationSignal.throwIfAborted();
}
