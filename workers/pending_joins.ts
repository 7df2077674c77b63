/** Requests to become a node that nobody has decided yet: each is looked at when it comes, and again while it waits. */
import type { Logger } from "@temporalio/common";
import { setTimeout } from "node:timers/promises";
import type { Verdict } from "../activities/node/approve_node.ts";
import type { NodeRequest } from "../activities/node/node_requests.ts";

/** Milliseconds between looks at one that was left: its machine may be awaited later. They double. */
export const looks = { first: 2_000, last: 60_000 };
/** Requests that are looked at side by side. */
const width = 20;
/** Of one who asks: whoever has a token may ask without end, and must not keep others waiting. */
const mostOfOne = 1_000;

export interface PendingDeps {
  judge: (request: NodeRequest) => Promise<Verdict>;
  log: Pick<Logger, "info" | "warn">;
  firstPause?: number;
}

interface Pending {
  request: NodeRequest;
  /** Epoch ms of the next look, and what passes then until the one after it. */
  at: number;
  pause: number;
  /** How often it was looked at. */
  looks: number;
  isBusy: boolean;
  /** What was said of it last. */
  said: string;
}

export class PendingJoins {
  readonly #waiting = new Map<string, Pending>();
  /** Those of one who has too many waiting, in the order in which they came. */
  readonly #beyond = new Map<string, NodeRequest>();
  /** How many wait, by who asks. */
  readonly #counts = new Map<string, number>();
  readonly #deps: PendingDeps;
  #wake = new AbortController();

  constructor(deps: PendingDeps) {
    this.#deps = deps;
  }

  /** Takes up a request, or what it is by now; `undefined` is one that is decided or gone. */
  put(key: string, request: NodeRequest | undefined): void {
    const said = this.#waiting.get(key)?.said ?? "";
    this.#drop(key);
    if (!request) return;
    const count = this.#counts.get(request.username) ?? 0;
    if (count >= mostOfOne) return void this.#beyond.set(key, request);
    this.#counts.set(request.username, count + 1);
    const pause = this.#deps.firstPause ?? looks.first;
    this.#waiting.set(key, { request, at: Date.now(), pause, looks: 0, isBusy: false, said });
    this.#wake.abort();
  }

  /** Works until `signal` aborts. */
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

  /** In turn of who asks; of one those first that were looked at least, as what is asked now is mostly rightly asked. */
  #due(room: number): [string, Pending][] {
    const now = Date.now();
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
    const next = times.reduce((least, at) => Math.min(least, at), Date.now() + looks.last);
    const either = AbortSignal.any([signal, this.#wake.signal]);
    // Aborting is how this rest ends early; nothing else can be thrown.
    await setTimeout(Math.max(0, next - Date.now()), undefined, { signal: either }).catch(() => undefined);
  }

  async #look(key: string, pending: Pending): Promise<void> {
    const { request, pause } = pending;
    Object.assign(pending, { isBusy: true, looks: pending.looks + 1 });
    const says = await this.#judge(request);
    Object.assign(pending, { isBusy: false, at: Date.now() + pause, pause: Math.min(looks.last, pause * 2) });
    // Another may have come in its place.
    if (says === "" && this.#waiting.get(key) === pending) this.#drop(key);
    if (says !== "" && says !== pending.said) this.#deps.log.warn(says);
    pending.said = says;
  }

  #drop(key: string): void {
    this.#beyond.delete(key);
    const username = this.#waiting.get(key)?.request.username;
    if (username === undefined) return;
    this.#waiting.delete(key);
    const left = (this.#counts.get(username) ?? 1) - 1;
    if (left > 0) this.#counts.set(username, left);
    else this.#counts.delete(username);
    for (const [next, request] of this.#beyond) {
      if (request.username !== username) continue;
      this.#beyond.delete(next);
      return this.put(next, request);
    }
  }

  /** What is to be said of one that goes on waiting; "" of one that does not. */
  async #judge(request: NodeRequest): Promise<string> {
    const { name, node = "" } = request;
    try {
      const verdict = await this.#deps.judge(request);
      if (verdict.is === "Left") return `Certificate request "${name}" stays undecided: ${verdict.why}`;
      if (verdict.is === "Approved") this.#deps.log.info("Node approved", { node, request: name });
      return "";
    } catch (error) {
      return `Failed to evaluate certificate request "${name}": ${String((error as Error).message).slice(0, 200)}`;
    }
  }
}
