/** Stages of one machine, each an order and the wait that follows it in one step, so that a history has one line for each. */
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
import type { Kube } from "../kube/client.ts";
import { ensureNodeCordoned } from "../node/cordon.ts";
import { awaitNodeDrained } from "../node/drain.ts";
import { awaitMachinesJoined, type RungsTold } from "./await_joined.ts";
import { awaitMachineGone } from "./await_machine.ts";
import { orderFirst } from "./order_first.ts";

/** A machine that comes for another; `deadlines` in epoch ms. */
type Replacement = { pool: PoolRef; kubelet: string; victim: string; machine: string; deadlines: JoinDeadlines };

/** Chooses the victim before the newcomer is admitted: their maker may act as soon as that is Ready. */
export async function awaitReplacementJoined(
  kube: Kube,
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
  kube: Kube,
  order: DrainOrder,
): Promise<DrainOutcome | Unseen> {
  const late = await orderFirst(() => ensureNodeCordoned(kube, order));
  return late ?? await awaitNodeDrained(kube, order);
}

/** Releases a drained machine, then sees it gone. */
export async function awaitVictimGone(
  kube: Kube,
  { node, until, ...member }: MemberRef & { node?: string; until: number },
): Promise<Unseen | undefined> {
  const late = await orderFirst(() => backendOf(kube, member.pool).release({ ...member, ...(node ? { node } : {}) }));
  if (!late) await awaitMachineGone(kube, { ...member, until });
  return late;
}
