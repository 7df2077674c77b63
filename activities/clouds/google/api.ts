/** Calls Google's Compute Engine with a timeout; a change is complete once its operation at Google has ended. */
import type { compute_v1 } from "@googleapis/compute";
import { setTimeout as pass } from "node:timers/promises";
import { unavailable } from "../../failures.ts";
import { endOf } from "../end_of.ts";
import { lastOf } from "./paths.ts";
import { failureOf, isAbsent, isFinal, type Refusal, refusalIn, refusalOf } from "./refusal.ts";

/** The location of the cloud; credentials come from the default places of the SDK. */
export interface Place {
  project: string;
  endpoint?: string;
  signal?: AbortSignal;
  /** Timeout of a call, which includes its request for credentials, in milliseconds (default 10 s). */
  requestMs?: number;
}

type Options = { signal: AbortSignal };

interface Asked<T> {
  call: (compute: compute_v1.Compute, options: Options) => Promise<{ data: T }>;
  /** The action, in the words that follow "Failed to" in an error message. */
  attempt: string;
}

interface Paged<Page, T> {
  page: (compute: compute_v1.Compute, next: { pageToken?: string }, options: Options) => Promise<{ data: Page }>;
  of: (page: Page) => T[];
  attempt: string;
}

type Operation = compute_v1.Schema$Operation;

/** Timeout of a call, in milliseconds. */
const patienceMs = 10_000;
/** Milliseconds to wait for the end of an operation; the operation itself continues at Google after that. */
const operationMs = 10_000;

export class GoogleApi {
  readonly project: string;
  readonly #connect: () => compute_v1.Compute;
  #compute: compute_v1.Compute;

  constructor(connect: () => compute_v1.Compute, private readonly place: Place) {
    this.project = place.project.toLowerCase();
    this.#connect = connect;
    this.#compute = connect();
  }

  async ask<T>({ call, attempt }: Asked<T>): Promise<T> {
    const answer = await this.#answer({ call, attempt });
    if ("data" in answer) return answer.data;
    throw failureOf(answer, attempt);
  }

  /** Returns undefined if the resource does not exist. */
  async find<T>({ call, attempt }: Asked<T>): Promise<T | undefined> {
    const answer = await this.#answer({ call, attempt });
    if ("data" in answer) return answer.data;
    if (isAbsent(answer)) return undefined;
    throw failureOf(answer, attempt);
  }

  /** Returns the items of all pages of a list. */
  async all<Page extends { nextPageToken?: string | null }, T>({ page, of, attempt }: Paged<Page, T>): Promise<T[]> {
    const found: T[] = [];
    let next: { pageToken?: string } = {};
    do {
      const asked = next;
      const answer: Page = await this.ask<Page>({ attempt, call: (compute, options) => page(compute, asked, options) });
      found.push(...of(answer));
      next = answer.nextPageToken ? { pageToken: answer.nextPageToken } : {};
    } while (next.pageToken !== undefined);
    return found;
  }

  /** Sends a change and returns Google's refusal, if any; throws failures that pass by themselves. */
  async change({ call, attempt }: Asked<Operation>): Promise<Refusal | undefined> {
    const answer = await this.#answer({ call, attempt });
    const refusal = "data" in answer ? refusalIn((await this.#ended(answer.data, attempt)).error) : answer;
    if (refusal && !isFinal(refusal)) throw failureOf(refusal, attempt);
    return refusal;
  }

  async wait(ms: number): Promise<void> {
    const { signal } = this.place;
    await pass(ms, undefined, signal ? { signal } : {}).catch(() => signal?.throwIfAborted());
  }

  async #ended(operation: Operation, attempt: string): Promise<Operation> {
    const end = Date.now() + operationMs;
    let seen = operation;
    for (let ms = 50; seen.status !== "DONE"; ms = Math.min(2 * ms, 1_000)) {
      if (Date.now() > end) throw unavailable(`Failed to ${attempt}: Google's operation is still running`);
      await this.wait(ms);
      seen = await this.ask({ attempt, call: (compute, options) => this.#operation(compute, operation, options) });
    }
    return seen;
  }

  #operation(
    { globalOperations, regionOperations, zoneOperations }: compute_v1.Compute,
    { name, zone, region }: Operation,
    options: Options,
  ): Promise<{ data: Operation }> {
    const asked = { project: this.project, operation: name ?? "" };
    if (zone) return zoneOperations.get({ ...asked, zone: lastOf(zone) }, options);
    if (region) return regionOperations.get({ ...asked, region: lastOf(region) }, options);
    return globalOperations.get(asked, options);
  }

  async #answer<T>({ call }: Asked<T>): Promise<{ data: T } | Refusal> {
    const { signal, requestMs = patienceMs } = this.place;
    const ends = AbortSignal.any([AbortSignal.timeout(requestMs), ...(signal ? [signal] : [])]);
    const compute = this.#compute;
    try {
      // The race ends the call at its deadline, because the library does not pass the signal to its requests for
      // credentials.
      const { data } = await Promise.race([call(compute, { signal: ends }), endOf(ends)]);
      // Only an object is an answer of Google; a truncated answer, or an answer of a proxy, is text.
      if (typeof data === "object" && data !== null) return { data };
      return { codes: [], says: "the response is incomplete, or not from Google", status: undefined };
    } catch (error) {
      signal?.throwIfAborted();
      // The library shares a request for credentials among all calls, so one without an end would block every later
      // call of the process. A new client requests credentials again.
      if (ends.aborted && this.#compute === compute) this.#compute = this.#connect();
      return refusalOf(error);
    }
  }
}
