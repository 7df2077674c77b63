/** What is measured of steps while they are done; the process says where the numbers go, or wants none. */
import { Context } from "@temporalio/activity";
import { CancelledFailure } from "@temporalio/common";
import type {
  BootVerdict,
  DrainOutcome,
  JoinVerdict,
  NodeUpdateActivities,
  PoolRef,
  Published,
  Rung,
  Unseen,
} from "../workflows/contracts/mod.ts";
import { failureTypeOf } from "./failures.ts";

/** What a machine that is waited for has still to reach. */
export type RungAhead = Rung | "drained" | "gone" | "booted";

/** Of which pool, and with which image, as it stands in the machine's template. */
export interface Measured {
  pool: PoolRef;
  image: string;
}

/** Takes the numbers; must neither throw nor wait. */
export interface Measures {
  /** A try of an activity failed. */
  failed(activity: string, type: string): void;
  published(seconds: number, news: Published["news"]): void;
  joined(seconds: number, of: Measured): void;
  drained(seconds: number, of: Measured): void;
  /** A machine that is updated in place has fetched its image. */
  staged(seconds: number, of: Measured): void;
  /** What such a machine made of the order to boot, and how long that took. */
  booted(seconds: number, of: Measured, verdict: BootVerdict["verdict"]): void;
  /** What the machines of a wait have still to reach; none when it is over. */
  underWay(wait: object, rungs: readonly RungAhead[]): void;
}

type Step = (input: never) => Promise<unknown>;

/** The same steps; what they fail with is counted. */
export function withFailuresCounted<Steps extends Record<keyof Steps, Step>>(
  measures: Measures | undefined,
  steps: Steps,
): Steps {
  if (!measures) return steps;
  const counted = Object.entries<Step>(steps).map(([name, step]): [string, Step] => [name, async (input) => {
    try {
      return await step(input);
    } catch (error) {
      if (!isCancelled(error)) measures.failed(name, failureTypeOf(error));
      throw error;
    }
  }]);
  return Object.fromEntries(counted) as Steps;
}

/** Publishes, and measures how long it took since it was ordered. */
export async function measuredPublish(
  measures: Measures | undefined,
  publish: () => Promise<Published>,
): Promise<Published> {
  const published = await publish();
  measures?.published(secondsSince(orderedAt(), Date.now()), published.news);
  return published;
}

/** Waits for machines to join, and measures those that became Ready meanwhile. */
export async function measuredJoin(
  measures: Measures | undefined,
  pool: PoolRef,
  wait: (told: (rungs: readonly Rung[]) => void) => Promise<JoinVerdict | Unseen>,
): Promise<JoinVerdict | Unseen> {
  const ordered = orderedAt();
  const verdict = await measuredWait(measures, [], wait);
  // Who was Ready before it was waited for is looked at again, and was measured then.
  const joined = "joined" in verdict ? verdict.joined.filter(({ readyAt }) => readyAt >= ordered) : [];
  for (const { readyAt, image } of joined) measures?.joined(secondsSince(ordered, readyAt), { pool, image });
  return verdict;
}

/** Waits, while machines have still to reach `rungs`, or what the wait tells itself. */
export async function measuredWait<Answer>(
  measures: Measures | undefined,
  rungs: readonly RungAhead[],
  wait: (told: (rungs: readonly RungAhead[]) => void) => Promise<Answer>,
): Promise<Answer> {
  const self = {};
  measures?.underWay(self, rungs);
  try {
    return await wait((ahead) => measures?.underWay(self, ahead));
  } finally {
    measures?.underWay(self, []);
  }
}

/** The steps of updates in place; what they take is measured. */
export function measuredUpdates(measures: Measures | undefined, steps: NodeUpdateActivities): NodeUpdateActivities {
  if (!measures) return steps;
  return {
    ...steps,
    awaitImageStaged: async (input) => {
      const seen = await steps.awaitImageStaged(input);
      if (seen.outcome === "Staged") measures.staged(secondsSince(orderedAt(), Date.now()), input);
      return seen;
    },
    awaitNodeBooted: async (input) => {
      const seen = await measuredWait(measures, ["booted"], () => steps.awaitNodeBooted(input));
      // Without a boot that was ordered it is only asked what it runs.
      const isBoot = "verdict" in seen && input.bootId !== "" && seen.verdict !== "Gone";
      if (isBoot) measures.booted(secondsSince(orderedAt(), Date.now()), input, seen.verdict);
      return seen;
    },
  };
}

/** Drains that were broken off to tell what blocks them. */
const drainsKept = 10_000;

/** Measures drains over all orders that one takes; who goes on where another worker began counts from there. */
export class DrainMeasure {
  readonly #begun = new Map<string, number>();
  readonly #measures: Measures | undefined;

  constructor(measures: Measures | undefined) {
    this.#measures = measures;
  }

  /** Drains a node; `imageOf` is asked once it is drained. */
  async of(
    { pool, node }: { pool: PoolRef; node: string },
    drain: () => Promise<DrainOutcome | Unseen>,
    imageOf: () => Promise<string>,
  ): Promise<DrainOutcome | Unseen> {
    const measures = this.#measures;
    if (!measures) return await drain();
    const key = `${pool.namespace}/${pool.name}/${node}`;
    const since = this.#begun.get(key) ?? orderedAt();
    const outcome = await measuredWait(measures, ["drained"], drain);
    this.#begun.delete(key);
    if ("outcome" in outcome && outcome.outcome === "Drained") {
      // Its machine may be gone by now, and what cannot be measured is no reason to drain again.
      const image = await imageOf().catch(() => "");
      measures.drained(secondsSince(since, Date.now()), { pool, image });
      return outcome;
    }
    this.#begun.set(key, since);
    const [oldest] = this.#begun.keys();
    if (this.#begun.size > drainsKept && oldest !== undefined) this.#begun.delete(oldest);
    return outcome;
  }
}

/** Epoch ms of the order that is carried out, whichever try this is. */
function orderedAt(): number {
  return Context.current().info.scheduledTimestampMs;
}

// The order was written by the clock of another machine.
function secondsSince(from: number, to: number): number {
  return Math.max(0, to - from) / 1000;
}

function isCancelled(error: unknown): boolean {
  return error instanceof CancelledFailure || Context.current().cancellationSignal.aborted;
}
