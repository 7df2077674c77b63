/**
 * Reads a pool's Events and the steps of its run repeatedly. Returns each Event and step once, and a long or failed
 * step again when the step ends.
 */
import type { PoolRef } from "../../workflows/contracts/mod.ts";
import { type ClusterEvent, eventsAbout } from "../connect/cluster.ts";
import type { Engine, Step } from "../connect/engine.ts";
import type { World } from "../connect/world.ts";
import { duration } from "../view/durations.ts";
import { objectOfEvents } from "./pools.ts";

/** One Event, step or command, as a line of output. */
export interface Line {
  /** Epoch ms. */
  at: number;
  id: string;
  /** event, step, wait or command. */
  kind: string;
  message: string;
  warning: boolean;
}

/** The pool whose Events and steps are read, and how many of them. */
export interface Telling {
  pool: PoolRef;
  /** Undefined for Events alone. */
  engine: Engine | undefined;
  /** Maximum lines of the first read. */
  tail: number;
  /** Epoch ms; the first read leaves out older lines. */
  from: number;
  /** Whether to include waits of the run between its steps. */
  waits: boolean;
}

/**
 * Minimum steps to request in the first read, and in each later read; a later read requests more until its steps
 * overlap those of the previous read.
 */
const lookedBack = { first: 500, later: 50 };

/** Reads what happened to a pool; each call of `look` continues after the previous one. */
export class Story {
  readonly #told = new Set<string>();
  readonly #seen = new Set<string>();
  /** Steps that had not ended at the last read. */
  #open: string[] = [];
  #isBegun = false;

  constructor(private readonly world: World, private readonly telling: Telling) {}

  /** Returns new lines in order of time; the first call returns only the newest ones. */
  async look(): Promise<Line[]> {
    const { pool, from, tail } = this.telling;
    const { kube } = await this.world.cluster();
    const [events, steps] = await Promise.all([
      eventsAbout(kube, objectOfEvents(pool)),
      this.#steps(),
    ]);
    const lines = [...events.map(eventLine), ...steps.map(stepLine)].sort((a, b) => orderOf(a) - orderOf(b));
    const news = lines.filter(({ id }) => !this.#told.has(id));
    for (const { id } of lines) this.#told.add(id);
    for (const { id } of steps) this.#seen.add(id);
    this.#open = steps.filter(({ seconds, failure }) => seconds === undefined && failure === undefined).map(idOf);
    if (this.#isBegun) return news;
    this.#isBegun = true;
    return news.filter(({ at }) => at >= from).slice(-tail);
  }

  // The first read returns at least `tail` steps, if there are as many; later reads reach back to the oldest step that
  // had not ended.
  async #steps(): Promise<Step[]> {
    const { pool, engine, tail, waits } = this.telling;
    const isTold = ({ kind }: Step): boolean => waits || kind !== "wait";
    let before = -1;
    for (let limit = this.#isBegun ? lookedBack.later : Math.max(tail, lookedBack.first);; limit *= 4) {
      const all = await engine?.steps(pool, limit) ?? [];
      const steps = all.filter(isTold);
      const isEnough = this.#isBegun ? this.#reachesBack(steps) : steps.length >= tail || all.length < limit;
      if (isEnough || all.length === before) return this.#fromKnown(steps);
      before = all.length;
    }
  }

  #reachesBack(steps: Step[]): boolean {
    const there = new Set(steps.map(idOf));
    const isKnown = this.#seen.size === 0 || steps.some(({ id }) => this.#seen.has(id));
    return isKnown && this.#open.every((id) => there.has(id));
  }

  // Drops steps that are older than every step of earlier reads, because the first read left them out on purpose.
  #fromKnown(steps: Step[]): Step[] {
    const known = steps.findIndex(({ id }) => this.#seen.has(id));
    return known >= 0 ? steps.slice(known) : steps;
  }
}

function idOf({ id }: Step): string {
  return id;
}

function eventLine({ at, id, type, reason, message }: ClusterEvent): Line {
  return { at, id, kind: "event", message: `${reason}: ${message}`, warning: type === "Warning" };
}

// The id of a step's line changes when the step fails, or ends after at least a second: `look` then returns the step
// again.
function stepLine({ at, id, kind, message, seconds, failure }: Step): Line {
  const isLong = seconds !== undefined && seconds >= 1 && kind !== "command";
  const ending = failure === undefined ? isLong ? ` (${duration(seconds)})` : "" : `: failed: ${failure}`;
  return { at, id: `${id}${ending}`, kind, message: `${message}${ending}`, warning: failure !== undefined };
}

// Times of Events have no fraction of a second, so an Event is sorted after the steps of the same second.
function orderOf({ at, kind }: Line): number {
  return kind === "event" ? Math.floor(at / 1000) * 1000 + 999 : at;
}
