/**
 * The steps of the replacement of one machine. Each step gives an order and waits for its result in one activity, so
 * that a workflow's history has one line per step.
 */
import type { Cluster } from "../cluster.ts";
import type {
  AdmissionOutcome,
  DrainOrder,
  DrainOutcome,
  JoinDeadlines,
  JoinVerdict,
  Unseen,
} from "../../workflows/contracts/mod.ts";
import type { AdmitOrder, MemberRef } from "../backends/contract.ts";
import { backendOf, ordersOf } from "../backends/registry.ts";
import { moot, refused } from "../failures.ts";
import { attempting, ifFound } from "../kube/status.ts";
import { isControlPlane } from "../node/node_facts.ts";
import { ensureNodeCordoned } from "../node/cordon.ts";
import { awaitNodeDrained } from "../node/drain.ts";
import { awaitMachinesJoined, type RungsTold } from "./await_joined.ts";
import { awaitMachineGone } from "./await_machine.ts";
import { Context } from "@temporalio/activity";
import { ApplicationFailure } from "@temporalio/common";
import { beating } from "../kube/polling.ts";

/** A new machine and the machine that it replaces; `deadlines` in epoch ms. */
type Replacement = { kubelet: string; victim: string; deadlines: JoinDeadlines } & AdmitOrder;

/**
 * Marks the machine to be replaced, admits the new machine, and waits until the new machine has joined; does not wait
 * for a machine that was recreated in place of its admission. The mark comes first, because the controller may
 * otherwise delete any old machine as soon as the new machine is Ready.
 */
export async function awaitReplacementJoined(
  kube: Cluster,
  { pool, kubelet, victim, machine, anyAge, deadlines }: Replacement,
  told?: RungsTold,
): Promise<JoinVerdict | Unseen> {
  let admitted = undefined as AdmissionOutcome;
  const late = await orderFirst(async () => {
    await ordersOf(kube, { pool, machine: victim }).choose({ pool, machine: victim });
    admitted = await ordersOf(kube, { pool, machine }).admit({ pool, machine, victim, ...(anyAge ? { anyAge } : {}) });
  });
  if (admitted === "Recreated") return { joined: [], failed: [], gone: [machine], isRecreated: true };
  return late ?? await awaitMachinesJoined(kube, { pool, kubelet, machines: [{ machine, deadlines }] }, told);
}

/** Cordons the node of a machine of the pool, then drains it. */
export async function awaitNodeEmptied(
  kube: Cluster,
  order: DrainOrder,
): Promise<DrainOutcome | Unseen> {
  let isChecked = false;
  const late = await orderFirst(async () => {
    await ensureOwnNode(kube, order);
    isChecked = true;
    const { pool, holder = pool, node } = order;
    await ensureNodeCordoned(kube, { pool: holder, node });
  });
  if (late) return late;
  // After a heartbeat of an earlier attempt, `orderFirst` skips the check of the node. Any client of Temporal can
  // record such a heartbeat, so the node is then checked here.
  return isChecked ? await awaitNodeDrained(kube, order) : await awaitOwnNodeDrained(kube, order);
}

/** Drains the node of a machine of the pool. */
export async function awaitOwnNodeDrained(kube: Cluster, order: DrainOrder): Promise<DrainOutcome | Unseen> {
  await ensureOwnNode(kube, order);
  return await awaitNodeDrained(kube, order);
}

/** Releases a drained machine for its deletion, then waits until the machine is deleted. */
export async function awaitVictimGone(
  kube: Cluster,
  { node, until, ...member }: MemberRef & { node?: string; until: number },
): Promise<Unseen | undefined> {
  const late = await orderFirst(() => ordersOf(kube, member).release({ ...member, ...(node ? { node } : {}) }));
  if (!late) await awaitMachineGone(kube, { ...member, until });
  return late;
}

// Orders that are followed by a wait in the same activity. A failed order is retried as often as if it had an activity
// of its own; after a successful order, later attempts of the activity only wait.

/** Maximum attempts of an order. If the last one fails too, the rollout reports that, and reads the pool again. */
const triesAtMost = 8;
/**
 * A first attempt that starts later than this (ms) after its schedule time was delayed by absent or busy workers;
 * clocks differ by less than this.
 */
const turnMs = 60_000;
/** An order that takes less than this (ms) does not extend the deadlines of the wait that follows. */
const promptMs = 5_000;
/** Milliseconds between heartbeats of a wait. */
const beat = 3_000;

/** The heartbeat of an attempt that has not given its order yet. */
const ordering = "ordering";

/**
 * Gives the order, unless an earlier attempt of the activity has given it. Returns undefined if an earlier attempt has,
 * or if the order took less than 5 s; otherwise its duration, which the deadlines of the wait must not count.
 */
export async function orderFirst(order: () => Promise<void>): Promise<Unseen | undefined> {
  const context = Context.current();
  const { heartbeatDetails, scheduledTimestampMs, attempt } = context.info;
  if (heartbeatDetails !== undefined && heartbeatDetails !== ordering) return undefined; // the order was given before
  const now = Date.now();
  // The order of a first attempt that did not start late is measured from the start of the attempt, because the clocks
  // of worker and server may differ.
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

/**
 * Checks that a node belongs to the machine that a drain names, because any client of Temporal's namespace can name any
 * node. Throws Moot (MachineGone) for the node of another machine or pool, and Refused (ControlPlaneRefused) for a
 * control plane, unless the pool rolls control planes. An absent node passes, because nothing of it is left to drain.
 */
function ensureOwnNode(kube: Cluster, { pool, machine, node }: MemberRef & { node: string }): Promise<void> {
  const what = `drain node "${node}"`;
  return attempting(what, async () => {
    const found = await ifFound(kube.core.readNode({ name: node }));
    if (!found) return;
    const owned = await backendOf(kube, pool).owns({ pool, machine, node });
    if (!owned) {
      const state = `it is not the node of machine "${machine}" of "${pool.namespace}/${pool.name}"`;
      throw moot("MachineGone", `Failed to ${what}: ${state}`);
    }
    if (owned.rollsControlPlanes || !isControlPlane(found)) return;
    const state = `it is a control plane, and "${pool.namespace}/${pool.name}" is a pool of workers`;
    throw refused("ControlPlaneRefused", `Failed to ${what}: ${state}`);
  });
}
