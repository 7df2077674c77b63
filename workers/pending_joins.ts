/** Pending certificate requests of nodes: each is evaluated when it arrives, and again while it stays pending. */
import type { Logger } from "@temporalio/common";
import { setTimeout } from "node:timers/promises";
import type { Verdict } from "../activities/node/approve_node.ts";
import type { NodeRequest } from "../activities/node/node_requests.ts";

/** Milliseconds between evaluations of a request, doubled from `first` to `last`: its machine may appear later. */
export const looks = { first: 2_000, last: 60_000 };
/** Maximum requests that are evaluated concurrently. */
const width = 20;
/** Maximum pending requests of one user: a user with a token may send any number, and must not delay others. */
const mostOfOne = 1_000;
/** Evaluations after which a request that stays pending gives way to other requests of its user. */
const looksInTurn = 4;

interface PendingDeps {
  judge: (request: NodeRequest) => Promise<Verdict>;
  log: Pick<Logger, "info" | "warn">;
  firstPause?: number;
}

interface Pending {
  request: NodeRequest;
  /**
   * Time of the next evaluation (ms by `performance.now`, because a wall clock may be set back), and milliseconds of
   * the pause after that evaluation.
   */
  at: number;
  pause: number;
  /** Number of evaluations. */
  looks: number;
  isBusy: boolean;
  /** The last message about the request. */
  said: string;
}

export class PendingJoins {
  readonly #waiting = new Map<string, Pending>();
  /** Requests beyond the maximum of their user, in the order in which they came or gave way. */
  readonly #beyond = new Map<string, Pending>();
  /** Pending requests by user. */
  readonly #counts = new Map<string, number>();
  readonly #deps: PendingDeps;
  #wake = new AbortController();

  constructor(deps: PendingDeps) {
    this.#deps = deps;
  }

  /** Adds or updates a request; removes it if `request` is undefined, because it was decided or deleted. */
  put(key: string, request: NodeRequest | undefined): void {
    const { said = "" } = this.#waiting.get(key) ?? this.#beyond.get(key) ?? {};
    this.#drop(key);
    if (!request) return;
    const pause = this.#deps.firstPause ?? looks.first;
    this.#queue(key, { request, at: performance.now(), pause, looks: 0, isBusy: false, said });
  }

  #queue(key: string, pending: Pending): void {
    const { username } = pending.request;
    const count = this.#counts.get(username) ?? 0;
    if (count >= mostOfOne) return void this.#beyond.set(key, pending);
    this.#counts.set(username, count + 1);
    this.#waiting.set(key, pending);
    this.#wake.abort();
  }

  /** Evaluates requests until `signal` aborts. */
  async run(signal: AbortSignal): Promise<void> {
    const busy = new Set<Promise<void>>();
    while (!signal.aborted) {
      this.#wake = new AbortController();
      for (const [key, pending] of this.#due(width - busy.size)) {
        const look = this.#look(key, pending).finally(() => {
          busy.delete(look);
          this.#wake.abort();
        });
        busy.add(look);
      }
      await this.#rest(signal, busy.size < width);
    }
    await Promise.all(busy);
  }

  /**
   * Returns at most `room` requests that are due. Users take turns; of one user's requests, those with the fewest
   * evaluations come first, because new requests are mostly legitimate.
   */
  #due(room: number): [string, Pending][] {
    const now = performance.now();
    const turns = new Map<string, number>();
    const turnOf = ({ request: { username } }: Pending): number => {
      const turn = turns.get(username) ?? 0;
      turns.set(username, turn + 1);
      return turn;
    };
    for (const pending of this.#waiting.values()) if (pending.isBusy) turnOf(pending);
    return [...this.#waiting].filter(([, { at, isBusy }]) => !isBusy && at <= now)
      .sort(([, one], [, other]) => one.looks - other.looks || one.at - other.at)
      .map((each): [number, [string, Pending]] => [turnOf(each[1]), each])
      .sort(([one], [other]) => one - other).slice(0, room).map(([, each]) => each);
  }

  async #rest(signal: AbortSignal, hasRoom: boolean): Promise<void> {
    const times = hasRoom ? [...this.#waiting.values()].filter(({ isBusy }) => !isBusy).map(({ at }) => at) : [];
    const next = times.reduce((least, at) => Math.min(least, at), performance.now() + looks.last);
    const either = AbortSignal.any([signal, this.#wake.signal]);
    // The promise rejects only when a signal aborts, which ends the pause early.
    await setTimeout(Math.max(0, next - performance.now()), undefined, { signal: either }).catch(() => undefined);
  }

  async #look(key: string, pending: Pending): Promise<void> {
    const { request, pause } = pending;
    Object.assign(pending, { isBusy: true, looks: pending.looks + 1 });
    const says = await this.#judge(request);
    Object.assign(pending, { isBusy: false, at: performance.now() + pause, pause: Math.min(looks.last, pause * 2) });
    // Another request may have replaced this one during the evaluation.
    const isCurrent = this.#waiting.get(key) === pending;
    if (says === "" && isCurrent) this.#drop(key);
    if (says !== "" && says !== pending.said) this.#deps.log.warn(says);
    pending.said = says;
    if (says !== "" && isCurrent && pending.looks >= looksInTurn) this.#giveWay(key, pending);
  }

  // Without this, requests that nothing ever decides would keep all later requests of their user from an evaluation.
  #giveWay(key: string, pending: Pending): void {
    if (this.#nextOf(pending.request.username) === undefined) return;
    this.#drop(key);
    this.#beyond.set(key, pending);
  }

  /** Returns the next request beyond the maximum of a user: the first without an evaluation, else the first. */
  #nextOf(username: string): [string, Pending] | undefined {
    let first: [string, Pending] | undefined;
    for (const [key, pending] of this.#beyond) {
      if (pending.request.username !== username) continue;
      if (pending.looks === 0) return [key, pending];
      first ??= [key, pending];
    }
    return first;
  }

  #drop(key: string): void {
    this.#beyond.delete(key);
    const username = this.#waiting.get(key)?.request.username;
    if (username === undefined) return;
    this.#waiting.delete(key);
    const left = (this.#counts.get(username) ?? 1) - 1;
    if (left > 0) this.#counts.set(username, left);
    else this.#counts.delete(username);
    const [next, pending] = this.#nextOf(username) ?? [];
    if (next === undefined || pending === undefined) return;
    this.#beyond.delete(next);
    // A request that gave way waits for its pause again, so that more requests cause no more evaluations per second.
    if (pending.looks > 0) pending.at = performance.now() + pending.pause;
    this.#queue(next, pending);
  }

  /** Returns a message about a request that stays pending; "" for a request that is decided. */
  async #judge(request: NodeRequest): Promise<string> {
    const { name, node = "" } = request;
    try {
      const verdict = await this.#deps.judge(request);
      if (verdict.is === "Left") return `Certificate request "${name}" stays pending: ${verdict.why}`;
      if (verdict.is === "Approved") this.#deps.log.info("Node approved", { node, request: name });
      return "";
    } catch (error) {
      return `Failed to evaluate certificate request "${name}": ${String((error as Error).message).slice(0, 200)}`;
    }
  }
}
