/**
 * How every client starts a workflow: its ID, task queue and search attributes, and the title and text in the web UI.
 */
import type { ClusterObject, PoolKind, PoolRef } from "../contracts/mod.ts";
import { searchAttributes } from "../status/search_attributes.ts";
import { nodePoolOf } from "./node_pool.ts";

// Maps a ScalingGroup to a pool. A ScalingGroup is cluster-scoped, but the objects of a pool, such as its Rollout and
// policies, are namespaced. So the pool of a ScalingGroup has a fixed namespace, and a prefix sets the pool's name
// apart from MachineDeployments.

/** The namespace of Rollouts and policies of scaling groups. */
export const groupsNamespace = "kube-system";
const prefix = "scaling-group.";

/** Returns the pool of the ScalingGroup of that name. */
export function poolOfGroup(name: string, cluster?: string): PoolRef {
  const pool: PoolRef = { kind: "ScalingGroup", namespace: groupsNamespace, name: `${prefix}${name}` };
  return cluster === undefined ? pool : { cluster, ...pool };
}

/** Returns the name of a pool's ScalingGroup; undefined for a pool of another namespace or without the prefix. */
export function groupOfPool({ namespace, name }: Pick<PoolRef, "namespace" | "name">): string | undefined {
  const isGroup = namespace === groupsNamespace && name.startsWith(prefix) && name.length > prefix.length;
  return isGroup ? name.slice(prefix.length) : undefined;
}

const upgradePrefix = "upgrade-kubernetes.";
const certificatesPrefix = "renew-certificates.";

/**
 * Returns the name, in the form of a pool, under which an upgrade of Kubernetes has its slots and cordons. No pool with
 * a Rollout has this name, so no run of a group gives these slots back or ends these cordons.
 */
export function holderOfUpgrade({ cluster, name }: ClusterObject): PoolRef {
  const holder: PoolRef = { kind: "ScalingGroup", namespace: groupsNamespace, name: `${upgradePrefix}${name}` };
  return cluster === undefined ? holder : { cluster, ...holder };
}

/** Like `holderOfUpgrade`, for the slots of a renewal of certificates; the two names differ. */
export function holderOfRenewal({ cluster, name }: ClusterObject): PoolRef {
  const holder: PoolRef = { kind: "ScalingGroup", namespace: groupsNamespace, name: `${certificatesPrefix}${name}` };
  return cluster === undefined ? holder : { cluster, ...holder };
}

export { nodePoolOf, poolOfNodePool } from "./node_pool.ts";

/** Returns the names of the search attributes that runs of a cluster use; "" is the cluster without a name. */
export function columnsOf(cluster: string): string[] {
  const { cluster: ofCluster, ...plain } = searchAttributes;
  return Object.values(cluster === "" ? plain : { ofCluster, ...plain }).map(({ name }) => name);
}

/** The pool's part of a workflow ID; each kind has another prefix. */
const idParts: Record<PoolKind, (pool: PoolRef) => string> = {
  MachineDeployment: ({ namespace, name }) => `machine-deployment/${namespace}/${name}`,
  ScalingGroup: (pool) => `scaling-group/${groupOfPool(pool) ?? ""}`,
  NodePool: (pool) => `node-pool/${pool.namespace}/${nodePoolOf(pool) ?? ""}`,
};

/** The workflow of each kind of pool, by its registered name. */
const types: Record<PoolKind, string> = {
  MachineDeployment: "rollOutMachineDeployment",
  ScalingGroup: "rollOutScalingGroup",
  NodePool: "rollOutNodePool",
};

/** Names of all workflows that roll pools. */
export const rolloutTypes: readonly string[] = Object.values(types);

/** Returns the registered name of the workflow that rolls a pool. */
export function workflowTypeOf({ kind = "MachineDeployment" }: PoolRef): string {
  return types[kind];
}

/** Returns the workflow ID of a pool's rollout; because it is unique, a pool never has two rollouts at once. */
export function workflowIdOf({ cluster, kind = "MachineDeployment", namespace, name }: PoolRef): string {
  const id = idParts[kind]({ namespace, name });
  return cluster === undefined ? id : `${cluster}/${id}`;
}

/** Returns the workflow ID of a requested plan; concurrent requests share one run. */
export function planIdOf(pool: PoolRef): string {
  const { cluster, ...own } = pool;
  return cluster === undefined ? `plan/${workflowIdOf(own)}` : `${cluster}/plan/${workflowIdOf(own)}`;
}

/** Returns the workflow ID of a notification. */
export function noticeIdOf({ cluster, namespace, name }: PoolRef, id: string): string {
  const plain = `notice/${namespace}/${name}/${id}`;
  return cluster === undefined ? plain : `${cluster}/${plain}`;
}

/** Returns the workflow ID of an admitted node, by the name of its JoiningNode. */
export function joiningNodeIdOf({ cluster, name }: ClusterObject): string {
  const id = `joining-node/${name}`;
  return cluster === undefined ? id : `${cluster}/${id}`;
}

/** Returns the workflow ID of a cluster-autoscaler, by the name of its AutoscalingStrategy. */
export function autoscalerIdOf({ cluster, name }: ClusterObject): string {
  const id = `autoscaling-strategy/${name}`;
  return cluster === undefined ? id : `${cluster}/${id}`;
}

/** Returns the workflow ID of an OSImage. */
export function imageIdOf({ cluster, name }: ClusterObject): string {
  const id = `os-image/${name}`;
  return cluster === undefined ? id : `${cluster}/${id}`;
}

/** Returns the workflow ID of a NodeVersion. */
export function nodeVersionIdOf({ cluster, name }: ClusterObject): string {
  const id = `node-version/${name}`;
  return cluster === undefined ? id : `${cluster}/${id}`;
}

/** Returns the workflow ID of an upgrade of Kubernetes, by the name of its NodeVersion. */
export function upgradeIdOf({ cluster, name }: ClusterObject): string {
  const id = `upgrade-kubernetes/${name}`;
  return cluster === undefined ? id : `${cluster}/${id}`;
}

/** Returns the workflow ID of a renewal of control planes' certificates, by the name of their NodeVersion. */
export function certificatesIdOf({ cluster, name }: ClusterObject): string {
  const id = `renew-certificates/${name}`;
  return cluster === undefined ? id : `${cluster}/${id}`;
}

/** Returns the default task queue of an installation; "" is the cluster without a name. */
export function taskQueueOf(cluster: string): string {
  return cluster === "" ? "ostler" : `ostler-${cluster}`;
}

/** Returns the task queue for waits of an installation; `taskQueue` is its queue for workflows and short steps. */
export function waitsQueueOf(taskQueue: string): string {
  return `${taskQueue}-waits`;
}

/**
 * The workflow type that the Schedule for renewals starts; a Schedule with this type is recognized as that Schedule.
 */
export const renewalType = "renewCredentials";

/**
 * Returns the ID of the Schedule that renews an installation's credentials; for the ID of each run, Temporal appends
 * its time.
 */
export function renewalIdOf(cluster: string): string {
  return cluster === "" ? "renew-credentials" : `${cluster}/renew-credentials`;
}

/** Returns the ID of the Schedule that discovers scaling groups; for the ID of each run, Temporal appends its time. */
export function discoveryIdOf(cluster: string): string {
  return cluster === "" ? "discover-scaling-groups" : `${cluster}/discover-scaling-groups`;
}

/** Returns only the fields of the pool from an object with more fields; absent fields stay absent. */
export function poolOf({ cluster, kind, namespace, name }: PoolRef): PoolRef {
  const where = cluster === undefined ? {} : { cluster };
  return kind === undefined ? { ...where, namespace, name } : { ...where, kind, namespace, name };
}

/** Returns the search attribute of the cluster; an empty list for the cluster without a name. */
export function clusterColumn(cluster: string): { key: typeof searchAttributes.cluster; value: string }[] {
  return cluster === "" ? [] : [{ key: searchAttributes.cluster, value: cluster }];
}

/** Returns the title, text and search attributes of a run that upgrades Kubernetes. */
export function shownAtUpgrade({ cluster, name }: ClusterObject): {
  staticSummary: string;
  staticDetails: string;
  typedSearchAttributes: { key: typeof searchAttributes.cluster; value: string }[];
} {
  return {
    staticSummary: `Upgrade Kubernetes of node version ${name}`,
    staticDetails: `Upgrades the control planes of NodeVersion \`${name}\` to its Kubernetes version, one at a time.`,
    typedSearchAttributes: clusterColumn(cluster ?? ""),
  };
}

/** Returns the title, text and search attributes of a new run that rolls a pool. */
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
