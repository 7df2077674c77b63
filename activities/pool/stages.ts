/** Stages of one machine, each an order and the wait that follows it in one step, so that a history has one line for each. */
import type { Cluster } from "../cluster.ts";
import type {
  DrainOrder,
  DrainOutcome,
  JoinDeadlines,
  JoinVerdict,
  PoolRef,
  Unseen,
} from "../../workflows/contracts/mod.ts";
import type { MemberRef } from "../backends/contract.ts";
import { backendOf } from "../backends/registry.ts";
import { ensureNodeCordoned } from "../node/cordon.ts";
import { awaitNodeDrained } from "../node/drain.ts";
import { awaitMachinesJoined, type RungsTold } from "./await_joined.ts";
import { awaitMachineGone } from "./await_machine.ts";
import { Context } from "@temporalio/activity";
import { ApplicationFailure } from "@temporalio/common";
import { beating } from "../kube/polling.ts";

/** A machine that comes for another; `deadlines` in epoch ms. */
type Replacement = { pool: PoolRef; kubelet: string; victim: string; machine: string; deadlines: JoinDeadlines };

/** Chooses the victim before the newcomer is admitted: their maker may act as soon as that is Ready. */
export async function awaitReplacementJoined(
  kube: Cluster,
  { pool, kubelet, victim, machine, deadlines }: Replacement,
  told?: RungsTold,
): Promise<JoinVerdict | Unseen> {
  const late = await orderFirst(async () => {
    await backendOf(kube, pool).choose({ pool, machine: victim });
    await backendOf(kube, pool).admit({ pool, machine, victim });
  });
  return late ?? await awaitMachinesJoined(kube, { pool, kubelet, machines: [{ machine, deadlines }] }, told);
}

/** Cordons a node, then drains it. */
export async function awaitNodeEmptied(
  kube: Cluster,
  order: DrainOrder,
): Promise<DrainOutcome | Unseen> {
  const late = await orderFirst(() => ensureNodeCordoned(kube, order));
  return late ?? await awaitNodeDrained(kube, order);
}

/** Releases a drained machine, then sees it gone. */
export async function awaitVictimGone(
  kube: Cluster,
  { node, until, ...member }: MemberRef & { node?: string; until: number },
): Promise<Unseen | undefined> {
  const late = await orderFirst(() => backendOf(kube, member.pool).release({ ...member, ...(node ? { node } : {}) }));
  if (!late) await awaitMachineGone(kube, { ...member, until });
  return late;
}

// Orders that stand at the beginning of a wait, in one step with it: given once, and tried as often as an order alone.

/** As often as an order by itself; longer trouble is left to the rollout, which says so and looks again. */
const triesAtMost = 8;
/** A first try that waited longer for its turn (ms) was kept waiting by workers that were away or full; clocks differ by less. */
const turnMs = 60_000;
/** An order that got through within this time (ms) costs nobody anything. */
const promptMs = 5_000;
/** Milliseconds between heartbeats. */
const beat = 3_000;

/** The heartbeat of a try that has not given its order yet. */
const ordering = "ordering";

/**
 * Gives the order unless a try before has; undefined when all is well, and what came late, as it was tried again and
 * again, as time that nobody could look in.
 */
export async function orderFirst(order: () => Promise<void>): Promise<Unseen | undefined> {
  const context = Context.current();
  const { heartbeatDetails, scheduledTimestampMs, attempt } = context.info;
  if (heartbeatDetails !== undefined && heartbeatDetails !== ordering) return undefined; // a look came after it
  const now = Date.now();
  // The time of the first try is its own, as clocks may differ, unless it came late.
  const isOwn = attempt === 1 && now - (scheduledTimestampMs ?? now) < turnMs;
  const begun = isOwn ? now : scheduledTimestampMs ?? now;
  try {
    await beating(order, { pulse: () => context.heartbeat(ordering), beat });
  } catch (error) {
    throw attempt < triesAtMost ? error : asLast(error);
  }
  const ms = Date.now() - begun;
  return ms < promptMs ? undefined : { unseenMs: ms };
}

function asLast(error: unknown): unknown {
  if (!(error instanceof ApplicationFailure)) return error;
  const { message, type } = error;
  return ApplicationFailure.nonRetryable(message, type ?? undefined);
}
