/** How the rollout of a pool is started, by whomever: one id, and what the run list shows of it. */
import type { ClusterObject, PoolKind, PoolRef } from "../contracts/mod.ts";
import { searchAttributes } from "../status/search_attributes.ts";
import { nodePoolOf } from "./node_pool.ts";

// A scaling group as a pool: its object is in no namespace, but what belongs to a pool is, such as its Rollout and policies.
// So it has a namespace and a name of its own among those of MachineDeployments.

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

export { nodePoolOf, poolOfNodePool } from "./node_pool.ts";

/** Names of the columns of the run list that the runs of a cluster fill; "" is the one without a name. */
export function columnsOf(cluster: string): string[] {
  const { cluster: ofCluster, ...plain } = searchAttributes;
  return Object.values(cluster === "" ? plain : { ofCluster, ...plain }).map(({ name }) => name);
}

/** The part of an id that a pool has by itself; each kind has another beginning. */
const idParts: Record<PoolKind, (pool: PoolRef) => string> = {
  MachineDeployment: ({ namespace, name }) => `machine-deployment/${namespace}/${name}`,
  ScalingGroup: (pool) => `scaling-group/${groupOfPool(pool) ?? ""}`,
  NodePool: (pool) => `node-pool/${pool.namespace}/${nodePoolOf(pool) ?? ""}`,
};

/** The workflow of each kind of pool, by its name on the wire. */
const types: Record<PoolKind, string> = {
  MachineDeployment: "rollOutMachineDeployment",
  ScalingGroup: "rollOutScalingGroup",
  NodePool: "rollOutNodePool",
};

/** Names of all workflows that roll pools. */
export const rolloutTypes: readonly string[] = Object.values(types);

/** The workflow that rolls a pool, by its name on the wire. */
export function workflowTypeOf({ kind = "MachineDeployment" }: PoolRef): string {
  return types[kind];
}

/** The workflow id that belongs to a pool, so that no pool can have two rollouts. */
export function workflowIdOf({ cluster, kind = "MachineDeployment", namespace, name }: PoolRef): string {
  const id = idParts[kind]({ namespace, name });
  return cluster === undefined ? id : `${cluster}/${id}`;
}

/** The workflow id of a plan that somebody asks for; who asks at the same time reads the same one. */
export function planIdOf(pool: PoolRef): string {
  const { cluster, ...own } = pool;
  return cluster === undefined ? `plan/${workflowIdOf(own)}` : `${cluster}/plan/${workflowIdOf(own)}`;
}

/** The workflow id of a notice. */
export function noticeIdOf({ cluster, namespace, name }: PoolRef, id: string): string {
  const plain = `notice/${namespace}/${name}/${id}`;
  return cluster === undefined ? plain : `${cluster}/${plain}`;
}

/** The workflow id of a node that was let in, by the name of its record. */
export function joiningNodeIdOf({ cluster, name }: ClusterObject): string {
  const id = `joining-node/${name}`;
  return cluster === undefined ? id : `${cluster}/${id}`;
}

/** The workflow id of a cluster-autoscaler, by the name of its strategy. */
export function autoscalerIdOf({ cluster, name }: ClusterObject): string {
  const id = `autoscaling-strategy/${name}`;
  return cluster === undefined ? id : `${cluster}/${id}`;
}

/** The workflow id of an OSImage. */
export function imageIdOf({ cluster, name }: ClusterObject): string {
  const id = `os-image/${name}`;
  return cluster === undefined ? id : `${cluster}/${id}`;
}

/** The workflow id of a NodeVersion. */
export function nodeVersionIdOf({ cluster, name }: ClusterObject): string {
  const id = `node-version/${name}`;
  return cluster === undefined ? id : `${cluster}/${id}`;
}

/** The task queue of an installation, unless it is told another; "" is the one whose cluster has no name. */
export function taskQueueOf(cluster: string): string {
  return cluster === "" ? "ostler" : `ostler-${cluster}`;
}

/** The task queue for waits that belongs to one for workflows and short steps. */
export function waitsQueueOf(taskQueue: string): string {
  return `${taskQueue}-waits`;
}

/** The workflow that a Schedule of ours starts, by which it is known. */
export const renewalType = "renewCredentials";

/** Id of the Schedule that renews an installation's credentials, and of its runs, to which Temporal adds the time. */
export function renewalIdOf(cluster: string): string {
  return cluster === "" ? "renew-credentials" : `${cluster}/renew-credentials`;
}

/** Id of the Schedule that looks for scaling groups, and of its runs, to which Temporal adds the time. */
export function discoveryIdOf(cluster: string): string {
  return cluster === "" ? "discover-scaling-groups" : `${cluster}/discover-scaling-groups`;
}

/** The pool alone of what has more fields; what is absent there stays absent. */
export function poolOf({ cluster, kind, namespace, name }: PoolRef): PoolRef {
  const where = cluster === undefined ? {} : { cluster };
  return kind === undefined ? { ...where, namespace, name } : { ...where, kind, namespace, name };
}

/** The column of the run list that tells the cluster; none for the one without a name. */
export function clusterColumn(cluster: string): { key: typeof searchAttributes.cluster; value: string }[] {
  return cluster === "" ? [] : [{ key: searchAttributes.cluster, value: cluster }];
}

/** Title, text and columns of a new run. */
export function shownAtStart({ cluster, kind = "MachineDeployment", namespace, name }: PoolRef): {
  staticSummary: string;
  staticDetails: string;
  typedSearchAttributes: { key: typeof searchAttributes[keyof typeof searchAttributes]; value: string }[];
} {
  const place = cluster === undefined ? "" : ` of cluster \`${cluster}\``;
  return {
    staticSummary: `Roll out ${namespace}/${name}`,
    staticDetails: `Brings the machines of ${kind} \`${namespace}/${name}\`${place} to the desired state.`,
    typedSearchAttributes: [
      ...(cluster === undefined ? [] : [{ key: searchAttributes.cluster, value: cluster }]),
      { key: searchAttributes.namespace, value: namespace },
      { key: searchAttributes.machineDeployment, value: name },
      { key: searchAttributes.phase, value: "Preparing" },
    ],
  };
}
