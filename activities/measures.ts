/** Measures activities while they run; the process decides where the numbers go, or passes no `Measures`. */
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

/**
 * The next step of a machine in progress: its next join stage (a `Rung`), or the end of its drain, deletion or boot.
 */
export type RungAhead = Rung | "drained" | "gone" | "booted";

/** The pool of a machine, and the image in the machine's template. */
export interface Measured {
  pool: PoolRef;
  image: string;
}

/** Receives the measurements; must neither throw nor wait. */
export interface Measures {
  /** Counts a failed attempt of an activity, by the type of the failure. */
  failed(activity: string, type: string): void;
  published(seconds: number, news: Published["news"]): void;
  joined(seconds: number, of: Measured): void;
  drained(seconds: number, of: Measured): void;
  /** Receives the time until a machine that is updated in place had fetched its image. */
  staged(seconds: number, of: Measured): void;
  /** Receives the verdict of an ordered boot of a machine that is updated in place, and the duration of that boot. */
  booted(seconds: number, of: Measured, verdict: BootVerdict["verdict"]): void;
  /**
   * Receives the next steps of the machines that a wait observes, one step per machine; the list replaces the previous
   * list of the same `wait`. An empty list means that the wait has ended.
   */
  underWay(wait: object, rungs: readonly RungAhead[]): void;
}

type Step = (input: never) => Promise<unknown>;

/** Returns the same activities; `measures` counts their failed attempts. */
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

/** Publishes a pool's config with `publish`, and measures the time since Temporal scheduled the activity. */
export async function measuredPublish(
  measures: Measures | undefined,
  publish: () => Promise<Published>,
): Promise<Published> {
  const published = await publish();
  measures?.published(secondsSince(orderedAt(), Date.now()), published.news);
  return published;
}

/** Waits for machines to join, and measures how long each machine took that became Ready during the wait. */
export async function measuredJoin(
  measures: Measures | undefined,
  pool: PoolRef,
  wait: (told: (rungs: readonly Rung[]) => void) => Promise<JoinVerdict | Unseen>,
): Promise<JoinVerdict | Unseen> {
  const ordered = orderedAt();
  const verdict = await measuredWait(measures, [], wait);
  // A machine that was Ready before this wait was measured by an earlier wait.
  const joined = "joined" in verdict ? verdict.joined.filter(({ readyAt }) => readyAt >= ordered) : [];
  for (const { readyAt, image } of joined) measures?.joined(secondsSince(ordered, readyAt), { pool, image });
  return verdict;
}

/**
 * Runs a wait, and reports the next steps of its machines to `measures`: first `rungs`, then each list that the wait
 * passes to its callback, and an empty list when the wait ends. Returns the answer of the wait.
 */
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

/** Returns the steps of in-place updates with their durations measured. */
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
      // Without an ordered boot the step only reads the running version.
      const isBoot = "verdict" in seen && input.bootId !== "" && seen.verdict !== "Gone";
      if (isBoot) measures.booted(secondsSince(orderedAt(), Date.now()), input, seen.verdict);
      return seen;
    },
  };
}

/**
 * Maximum number of interrupted drains whose start is remembered; a drain is interrupted so that the workflow can
 * report what blocks it.
 */
const drainsKept = 10_000;

/**
 * Measures a drain from the scheduling of its first activity to its end, over all interruptions. A worker process that
 * continues a drain of another worker process measures from the first activity that it executed itself.
 */
export class DrainMeasure {
  readonly #begun = new Map<string, number>();
  readonly #measures: Measures | undefined;

  constructor(measures: Measures | undefined) {
    this.#measures = measures;
  }

  /** Drains a node; calls `imageOf` once the node is drained. */
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
      // The machine may be deleted by now, and a failed measurement must not repeat the drain.
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

/** Returns when the activity was scheduled (epoch ms), which is the same for all of its attempts. */
function orderedAt(): number {
  return Context.current().info.scheduledTimestampMs;
}

// Returns 0 instead of a negative difference: `from` is a time of the Temporal server, whose clock may be ahead.
function secondsSince(from: number, to: number): number {
  return Math.max(0, to - from) / 1000;
}

function isCancelled(error: unknown): boolean {
  return error instanceof CancelledFailure || Context.current().cancellationSignal.aborted;
}
