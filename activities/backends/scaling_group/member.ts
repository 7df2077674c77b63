/** Machines of a scaling group as the planner sees them; pure. */
import type { Member, MemberPhase, PoolRef } from "../../../workflows/contracts/mod.ts";
import type { Instance } from "../../clouds/driver.ts";
import { isOwnHold } from "../../node/holder.ts";
import type { GroupNode } from "../../node_version/group_nodes.ts";
import { freeNumbers, type Legacy, legacyFor, type Tokens } from "./ledger.ts";
import { isAlive, isOf, type Order } from "./records.ts";
import type { CloudSight, Moment } from "./sight.ts";
import { hashOf, type Target } from "../../node_version/version_release.ts";

/** The id of a machine for life: the token that it was ordered by, or its own name in its cloud. */
export function memberIdOf({ providerId, token }: Pick<Instance, "providerId" | "token">): string {
  return token ?? (providerId.slice(providerId.lastIndexOf("/") + 1) || providerId);
}

/** Whose members are asked for, and what they are to run. */
export interface Of {
  pool: PoolRef;
  target: Target;
  /** Of machines that went before another came. */
  legacies: readonly Legacy[];
  /** What becomes of protected ones; missing where none is, or they are replaced like any. */
  kept?: "Skip" | "Wait";
}

/** One instance with its node. */
export function memberOfInstance(
  { pool, target, legacies, kept }: Of,
  { records, nodes }: CloudSight,
  instance: Instance,
): Member {
  const id = memberIdOf(instance);
  const node = nodes.get(instance.providerId.toLowerCase());
  const order = orderOfInstance(records.orders, instance);
  // Which components one gets that has not joined is decided when it does: those that are wanted then.
  const components = node?.components || target.components;
  const wanted = hashOf(target);
  const isChosen = isMarked(pool, node) || records.orders.some((each) => isFor(id, each) && each.target === wanted);
  const isGoing = order?.goal === "Leave" || records.removals.some(({ member }) => member === id);
  const isHeir = !order && node?.heirOf === "" && legacyFor(legacies, id, instance.since) !== undefined;
  const phase = isGoing ? "Leaving" : phaseOf(instance, { node, order, isHeir });
  return {
    ...{ id, templateHash: hashOf({ image: instance.image, components }), image: instance.image, kubelet: "" },
    ...(node ? { node: node.name } : {}),
    ...{ phase, since: instance.since, marked: isChosen, held: isChosen || phase === "Leaving" },
    expendable: instance.trouble !== "" || instance.state === "Failed",
    ...(instance.zone ? { zone: instance.zone } : {}),
    ...(instance.isProtected && kept ? { kept } : {}),
  };
}

/** An order of which the cloud shows nothing: on its way, or gone before it got in. */
export function memberOfOrder({ target }: Of, order: Order, at: Moment): Member {
  const { id, since, trouble } = order;
  const templateHash = order.target || hashOf(target);
  const phase = isLost(order, at) ? "Leaving" : "Provisioning";
  return {
    ...{ id, templateHash, image: target.image, kubelet: "", phase, since },
    ...{ marked: false, held: phase === "Leaving", expendable: trouble !== "" },
  };
}

/** Nothing will come of it any more, as far as can be told from what the cloud does not show. */
export function isLost({ goal, providerId, lastTried, isVanished }: Order, { now, lagMs }: Moment): boolean {
  if (isVanished) return true;
  const isLate = now >= Date.parse(lastTried) + lagMs;
  if (goal === "Leave") return isLate || providerId !== "";
  return isLate && providerId !== "";
}

/** Newcomers on paper: one for each machine that another could come for. */
export function papersOf(
  { target }: Of,
  { group, tokens, most }: { group: string; tokens: Tokens; most: number },
): Member[] {
  const since = new Date(0).toISOString();
  return freeNumbers(tokens, most).map((number) => ({
    ...{ id: tokenOf(group, number), templateHash: hashOf(target), image: target.image, kubelet: "" },
    ...{ phase: "Held", since, marked: false, held: true, expendable: false },
  }));
}

const between = "-new-";

/** Tokens of two groups are never the same, nor is one the name that a cloud gives an instance by itself. */
export function tokenOf(group: string, number: number): string {
  return `${group}${between}${number}`;
}

/** The number in a token; undefined for what is none of the group. */
export function numberIn(group: string, token: string): number | undefined {
  const start = `${group}${between}`;
  const rest = token.startsWith(start) ? token.slice(start.length) : "";
  return /^[1-9]\d{0,14}$/.test(rest) ? Number(rest) : undefined;
}

/** The order by which an instance came, also one of the operator of before, which knew its instance alone. */
export function orderOfInstance(orders: readonly Order[], instance: Instance): Order | undefined {
  return orders.find(({ id, providerId }) => id === instance.token || isOf(providerId, instance));
}

function phaseOf(
  instance: Instance,
  { node, order, isHeir }: { node: GroupNode | undefined; order: Order | undefined; isHeir: boolean },
): MemberPhase {
  if (!isAlive(instance)) return "Leaving";
  if (!node) return "Booting";
  // Of one that was ordered it is known whether it ever got in; of others a node says so.
  const isIn = order ? order.isDone : !isHeir && (node.isReady || instance.state === "Ready");
  return isIn ? "Ready" : "Joining";
}

function isFor(id: string, { donor, goal }: Order): boolean {
  return donor === id && goal === "Join";
}

function isMarked(pool: PoolRef, node: GroupNode | undefined): boolean {
  return node !== undefined && (node.heir !== "" || isOwnHold(pool, node.chosenBy));
}
