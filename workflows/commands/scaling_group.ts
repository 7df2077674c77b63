/**
 * A scaling group as a pool: its object is in no namespace, but what belongs to a pool is, such as its Rollout and policies.
 * So it has a namespace and a name of its own among those of MachineDeployments.
 */
import type { PoolRef } from "../contracts/mod.ts";

/** Where Rollouts and policies of scaling groups are. */
export const groupsNamespace = "kube-system";
const prefix = "scaling-group.";

/** The pool of the ScalingGroup of that name. */
export function poolOfGroup(name: string, cluster?: string): PoolRef {
  const pool: PoolRef = { kind: "ScalingGroup", namespace: groupsNamespace, name: `${prefix}${name}` };
  return cluster === undefined ? pool : { cluster, ...pool };
}

/** The name of a pool's ScalingGroup; undefined for what is no name of one. */
export function groupOfPool({ namespace, name }: Pick<PoolRef, "namespace" | "name">): string | undefined {
  const isGroup = namespace === groupsNamespace && name.startsWith(prefix) && name.length > prefix.length;
  return isGroup ? name.slice(prefix.length) : undefined;
}
