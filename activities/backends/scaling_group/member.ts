/** Returns machines of a scaling group as the rollout planner sees them; pure. */
import type { Member, MemberPhase, PoolRef } from "../../../workflows/contracts/mod.ts";
import type { Instance } from "../../clouds/driver.ts";
import { isOwnHold } from "../../node/holder.ts";
import { same } from "../../node_version/classify.ts";
import type { GroupNode } from "../../node_version/group_nodes.ts";
import { freeNumbers, type Legacy, legacyFor, type Tokens } from "./ledger.ts";
import { isAlive, isOf, type Order } from "./records.ts";
import type { Asked, CloudSight, Moment } from "./sight.ts";
import { hashOf, type Target } from "../../node_version/version_release.ts";

/**
 * Returns the permanent ID of a machine: the token of Ostler's order for it, or, without an order, its name in the
 * cloud.
 */
export function memberIdOf({ providerId, token }: Pick<Instance, "providerId" | "token">): string {
  return token ?? (providerId.slice(providerId.lastIndexOf("/") + 1) || providerId);
}

/** A pool and the target of its machines. */
export interface Of {
  pool: PoolRef;
  target: Target;
  /** Legacies of machines that were deleted before their replacement was created. */
  legacies: readonly Legacy[];
  /**
   * The Kubernetes components that the NodeVersion names, even before the NodeVersion is released to the group; if the
   * field is missing, the NodeVersion counts as naming none.
   */
  upgraded?: string;
  /**
   * How protected machines are treated; missing if the group has none, or if they are replaced like unprotected
   * machines.
   */
  kept?: "Skip" | "Wait";
}

/** Returns an existing instance, with its node, as the rollout planner sees it. */
export function memberOfInstance(
  { pool, target, legacies, upgraded, kept }: Of,
  { records, nodes }: CloudSight,
  instance: Instance,
): Member {
  const id = memberIdOf(instance);
  const node = nodes.get(instance.providerId.toLowerCase());
  const order = orderOfInstance(records.orders, instance);
  const components = countedComponents(node, { target, upgraded });
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
    ...lacksOf(instance, { phase, node, target }),
  };
}

/**
 * Returns the components by which a machine counts as updated or outdated. A machine gets components when it joins, so
 * a machine that has not joined counts with the components of the target. If the target names no components, those of
 * the machine do not matter. Control planes are upgraded in place before their NodeVersion is released, so a control
 * plane that already runs the components of the NodeVersion counts as updated: a replacement would run the previous
 * components again.
 */
export function countedComponents(
  node: GroupNode | undefined,
  { target, upgraded }: { target: Target; upgraded: string | undefined },
): string {
  if (target.components === "") return "";
  const own = node?.components || target.components;
  return node?.isControlPlane && upgraded && same(own, upgraded) ? target.components : own;
}

/** Returns what a machine that has not joined waits for, as far as the cloud and its node show it. */
function lacksOf(
  { trouble }: Instance,
  { phase, node, target }: { phase: MemberPhase; node: GroupNode | undefined; target: Target },
): Pick<Member, "lacks"> {
  if (trouble !== "") return { lacks: trouble };
  if (phase === "Booting") return { lacks: "no node has registered" };
  const isUnannounced = phase === "Joining" && target.components !== "" && node?.components === "";
  return isUnannounced
    ? { lacks: `node "${node?.name}" does not have the annotation that names its Kubernetes components` }
    : {};
}

/**
 * Returns the machine of an order as the rollout planner sees it, if its instance does not exist yet or was deleted
 * before it joined.
 */
export function memberOfOrder({ target }: Of, order: Order, at: Moment): Member {
  const { id, since, trouble } = order;
  const templateHash = order.target || hashOf(target);
  const phase = isLost(order, at) ? "Leaving" : "Provisioning";
  return {
    ...{ id, templateHash, image: target.image, kubelet: "", phase, since },
    ...{ marked: false, held: phase === "Leaving", expendable: trouble !== "" },
    ...(trouble === "" ? {} : { lacks: trouble }),
  };
}

/** Returns whether an order will get no instance any more, as far as the answers of the cloud show. */
export function isLost(
  { goal, providerId, lastTried, isVanished, journal }: Order,
  { now, lagMs, isOpen }: Moment,
): boolean {
  if (isVanished) return true;
  if (providerId === "" && isOpen?.(journal)) return false;
  const isLate = now >= Date.parse(lastTried) + lagMs;
  if (goal === "Leave") return isLate || providerId !== "";
  return isLate && providerId !== "";
}

/** Returns `most` pending new machines, which are not ordered yet, with the IDs that they get when they are ordered. */
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

/** Returns the token of an order, which no other group and no cloud uses as a name. */
export function tokenOf(group: string, number: number): string {
  return `${group}${between}${number}`;
}

/** Returns the number in a token; undefined for any other name. */
export function numberIn(group: string, token: string): number | undefined {
  const start = `${group}${between}`;
  const rest = token.startsWith(start) ? token.slice(start.length) : "";
  return /^[1-9]\d{0,14}$/.test(rest) ? Number(rest) : undefined;
}

/**
 * Returns the unused numbers of a group. A ScalingGroup that was created again has lost its record of used numbers, and
 * clouds remember the tokens of deleted machines. So all numbers up to the highest one of a machine that is older than
 * the ScalingGroup count as used.
 */
export function unusedNumbers(
  { group: { metadata }, ledger: { tokens } }: Pick<Asked, "group" | "ledger">,
  instances: readonly Instance[],
): Tokens {
  const createdAt = Date.parse(metadata.creationTimestamp);
  const isOlder = (madeAt: number): boolean => madeAt > 0 && madeAt < createdAt; // 0: the cloud does not report it
  const older = instances.filter(({ since }) => isOlder(Date.parse(since)));
  const highest = Math.max(0, ...older.flatMap(({ token = "" }) => numberIn(metadata.name, token) ?? []));
  return { next: Math.max(tokens.next, highest + 1), unused: tokens.unused.filter((number) => number > highest) };
}

/**
 * Returns the order of an instance, by the instance's token or provider ID; a record of the Constellation node operator
 * has only the provider ID.
 */
export function orderOfInstance(orders: readonly Order[], instance: Instance): Order | undefined {
  return orders.find(({ id, providerId }) => id === instance.token || isOf(providerId, instance));
}

function phaseOf(
  instance: Instance,
  { node, order, isHeir }: { node: GroupNode | undefined; order: Order | undefined; isHeir: boolean },
): MemberPhase {
  if (!isAlive(instance)) return "Leaving";
  if (!node) return "Booting";
  // For an ordered machine, the record shows whether it has joined; for any other machine, the node does.
  const isIn = order ? order.isDone : !isHeir && (node.isReady || instance.state === "Ready");
  return isIn ? "Ready" : "Joining";
}

function isFor(id: string, { donor, goal }: Order): boolean {
  return donor === id && goal === "Join";
}

function isMarked(pool: PoolRef, node: GroupNode | undefined): boolean {
  return node !== undefined && (node.heir !== "" || isOwnHold(pool, node.chosenBy));
}
