/**
 * Keeps machines of control planes unchanged while an upgrade of Kubernetes or a renewal of certificates has a slot of
 * the shared budget for them.
 */
import { createHash } from "node:crypto";
import type { ClusterObject, Member, PoolRef } from "../../workflows/contracts/mod.ts";

const namespace = "kube-system";
const prefix = "upgrade-kubernetes.";
const renewalPrefix = "renew-certificates.";

/** Returns the holder of slots and cordons of an upgrade, as `workflows/commands/start_options.ts` does. */
export function holderOfUpgrade({ cluster, name }: ClusterObject): PoolRef {
  const holder: PoolRef = { kind: "ScalingGroup", namespace, name: `${prefix}${name}` };
  return cluster === undefined ? holder : { cluster, ...holder };
}

/** Returns the holder of slots of a renewal of certificates, as `workflows/commands/start_options.ts` does. */
export function holderOfRenewal({ cluster, name }: ClusterObject): PoolRef {
  const holder: PoolRef = { kind: "ScalingGroup", namespace, name: `${renewalPrefix}${name}` };
  return cluster === undefined ? holder : { cluster, ...holder };
}

/**
 * Returns the name of the NodeVersion whose upgrade or renewal has this name as the holder of slots; undefined for the
 * name of a pool.
 */
export function upgradeIn(pool: Pick<PoolRef, "namespace" | "name">): string | undefined {
  const own = [prefix, renewalPrefix].find((each) => pool.name.startsWith(each) && pool.name.length > each.length);
  return own !== undefined && pool.namespace === namespace ? pool.name.slice(own.length) : undefined;
}

/** Returns the hash that stands for a machine in a slot's key that would be too long with the machine's name. */
export function shortOf(machine: string): string {
  return createHash("sha256").update(machine).digest("hex").slice(0, 24);
}

/** Returns whether a slot whose key has `inKey` in the place of the machine is the slot of `machine`. */
export function isSlotOf(inKey: string, machine: string): boolean {
  return inKey === machine || inKey === shortOf(machine);
}

/** Returns whether one of these slots is for the machine, by its own name or that of its node. */
export function isUnderWay({ id, node }: Pick<Member, "id" | "node">, slots: readonly { machine: string }[]): boolean {
  return slots.some(({ machine }) => isSlotOf(machine, id) || (node !== undefined && isSlotOf(machine, node)));
}

/**
 * Returns the machine, kept unchanged if one of these slots is for it: the machine is not replaced, and not repaired
 * before the slot ends (`until`, epoch ms). The slot decides and not a mark on the node, because only administrators
 * and Ostler write the slots.
 */
export function keptForUpgrade(member: Member, slots: readonly { machine: string; until: number }[]): Member {
  const until = Math.max(...slots.filter((slot) => isUnderWay(member, [slot])).map((slot) => slot.until));
  if (until === -Infinity) return member;
  const { ill, kept = "Upgrading" } = member;
  return { ...member, kept, ...(ill ? { ill: { ...ill, due: Math.max(ill.due, until) } } : {}) };
}
