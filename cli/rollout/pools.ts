/** Selects the pools of a command. */
import { machineDeployments, rollouts } from "../../activities/kube/resources.ts";
import { ifFound } from "../../activities/kube/status.ts";
import { nodePools } from "../../activities/kube/node_pools.ts";
import { scalingGroups } from "../../activities/kube/update_kinds.ts";
import type { Kube } from "../../activities/kube/client.ts";
import type { PoolKind, PoolRef } from "../../workflows/contracts/mod.ts";
import { ifAllowed, listAll, listReadable, type NamedCluster } from "../connect/cluster.ts";
import { inCluster } from "../connect/cluster_name.ts";
import { counted } from "../../workflows/policy/counted.ts";
import { Refusal } from "../failure.ts";
import { UsageError } from "../usage_error.ts";
import { nearText } from "./near_names.ts";
import { type PoolRow, poolRow } from "./pool_row.ts";
import {
  groupOfPool,
  groupsNamespace,
  nodePoolOf,
  poolOfGroup,
  poolOfNodePool,
} from "../../workflows/commands/start_options.ts";
import { listNodePools, readNodePoolObject } from "./node_pools.ts";
import { listGroups, readGroup, withKind } from "./scaling_groups.ts";

/** Flags that select pools. */
export interface Selection {
  /** [NAMESPACE/]NAME, machinedeployment/NAME, scalinggroup/NAME or nodepool/NAME. */
  pool?: string;
  namespace?: string;
  selector?: string;
  all?: boolean;
  allNamespaces?: boolean;
}

/** One pool by name, or several. */
export type Chosen = { kind: "one"; pool: PoolRef } | { kind: "many"; namespace?: string; labelSelector?: string };

/**
 * Reads the flags. Without flags, selects all pools of the namespace if `whole` is true, else throws UsageError.
 */
export function chosenBy(selection: Selection, { namespace: usual, name = "" }: NamedCluster, whole: boolean): Chosen {
  const { pool, namespace = usual, selector, all = false, allNamespaces = false } = selection;
  // An empty selector, for example from an unset variable, would select everything.
  if (selector?.trim() === "") {
    throw new UsageError("Failed to select pools: --selector is empty; to select all pools, give --all or -A");
  }
  const many = selector !== undefined || all || allNamespaces;
  if (pool !== undefined && many) {
    throw new UsageError(`Failed to select pools: give either "${pool}" or flags that select several pools`);
  }
  if (pool !== undefined) return { kind: "one", pool: inCluster(name, refOf(pool, namespace)) };
  if (!many && !whole) {
    throw new UsageError("Failed to select pools: name a pool, or give -l SELECTOR, --all or -A");
  }
  return {
    kind: "many",
    ...(allNamespaces ? {} : { namespace }),
    ...(selector === undefined ? {} : { labelSelector: selector }),
  };
}

function refOf(text: string, namespace: string): PoolRef {
  const [, group] = /^(?:sg|scalinggroups?)\/([^/]+)$/i.exec(text) ?? [];
  if (group !== undefined) return poolOfGroup(group);
  const [, nodes] = /^(?:npool|nodepools?)\/(.+)$/i.exec(text) ?? [];
  if (nodes !== undefined) {
    const [name = "", place = namespace, ...rest] = nodes.split("/").reverse();
    if (name !== "" && place !== "" && rest.length === 0) return poolOfNodePool(place, name);
  }
  const [, kind] = /^(md|machinedeployments?)\//i.exec(text) ?? [];
  const parts = (kind === undefined ? text : text.slice(kind.length + 1)).split("/");
  const [first = "", second] = parts;
  if (parts.length > 2 || parts.includes("")) {
    throw new UsageError(
      `Failed to use "${text}" as a pool: expected [NAMESPACE/]NAME, machinedeployment/NAME, scalinggroup/NAME or nodepool/NAME`,
    );
  }
  return withKind(second === undefined ? { namespace, name: first } : { namespace: first, name: second });
}

/** Returns the selected pools, sorted by namespace and name; throws Refusal for a name that does not exist. */
export async function readRows(cluster: NamedCluster, chosen: Chosen): Promise<PoolRow[]> {
  return (await readSelected(cluster, chosen)).rows;
}

/** The selected pools; `hidden` has those that are left out because the user may not list objects of their kind. */
export interface Selected {
  rows: PoolRow[];
  hidden: PoolRef[];
}

/** Like `readRows`, for commands whose result must not seem to be about all pools while some of them are hidden. */
export async function readSelected(cluster: NamedCluster, chosen: Chosen): Promise<Selected> {
  if (chosen.kind === "one") return { rows: [await readRow(cluster, chosen.pool)], hidden: [] };
  return await readMany(cluster, chosen);
}

/** Returns the failure of a command for the pools that its selection leaves out; undefined if it leaves out none. */
export function hiddenRefusal(verb: string, hidden: readonly PoolRef[], chosen: Chosen): Refusal | undefined {
  const [first, ...others] = hidden;
  if (first === undefined) return undefined;
  const kinds = [...new Set(hidden.map(({ kind }) => `${kind}s`))].sort().join(" and ");
  const more = others.length > 0 ? ` and ${counted(others.length, "more pool")}` : "";
  // A Rollout does not have the labels of its pool.
  const remedy = chosen.kind === "many" && chosen.labelSelector !== undefined
    ? `, so it is unknown whether the labels select ${others.length > 0 ? "them" : "it"}; get this permission`
    : "; name each pool, or get this permission";
  return new Refusal(`Failed to ${verb} "${poolName(first)}"${more}: you are not allowed to list ${kinds}${remedy}`);
}

/** Returns one pool; throws Refusal with similar names if it does not exist. */
export async function readRow(cluster: NamedCluster, pool: PoolRef): Promise<PoolRow> {
  const [deployment, rollout] = await Promise.all([
    readPool(cluster.kube, pool),
    rawObject(cluster.kube, rollouts, pool),
  ]);
  const row = poolRow(deployment, rollout, cluster.name);
  if (row !== undefined) return row;
  throw new Refusal(await notFound(cluster, pool));
}

function readPool(kube: Kube, pool: PoolRef): Promise<unknown> {
  if (pool.kind === "ScalingGroup") return readGroup(kube, pool);
  return pool.kind === "NodePool" ? readNodePoolObject(kube, pool) : rawObject(kube, machineDeployments, pool);
}

async function readMany(
  { kube, name }: NamedCluster,
  where: { namespace?: string; labelSelector?: string },
): Promise<Selected> {
  const { labelSelector: _, ...place } = where;
  const [deployments, reports] = await Promise.all([
    listAll(kube, machineDeployments, where),
    // A cluster without the CRDs of Ostler has no Rollouts, and its pools are listed nevertheless.
    ifFound(listAll(kube, rollouts, place)),
  ]);
  const byKey = new Map((reports ?? []).map((one) => [keyOf(one), one]));
  const groups = hasGroups(where.namespace) ? await listGroups(kube, where.labelSelector) : [];
  const nodes = await listNodePools(kube, where);
  const rows = [...deployments, ...groups ?? [], ...nodes ?? []]
    .flatMap((one) => poolRow(one, byKey.get(keyOf(one)), name) ?? [])
    .sort((a, b) => a.pool.namespace.localeCompare(b.pool.namespace) || a.pool.name.localeCompare(b.pool.name));
  // The name of a Rollout shows the kind of its pool, also to users who may not list the pools of this kind.
  const hidden = (reports ?? []).flatMap((one) => {
    const [namespace = "", rollout = ""] = keyOf(one).split("/");
    const pool = withKind({ namespace, name: rollout });
    const isHidden = pool.kind === "ScalingGroup" ? !groups : pool.kind === "NodePool" && !nodes;
    return isHidden ? [pool] : [];
  });
  return { rows, hidden };
}

/** Returns whether the pools of scaling groups are in the namespace; undefined is all namespaces. */
export function hasGroups(namespace: string | undefined): boolean {
  return namespace === undefined || namespace === groupsNamespace;
}

/** Returns the end of a message about an empty selection. */
export function noPools(chosen: Chosen): string {
  if (chosen.kind === "one") return `there is no ${objectText(chosen.pool)}`;
  const { namespace, labelSelector } = chosen;
  const where = namespace === undefined ? "in any namespace" : `in namespace "${namespace}"`;
  return `there is no pool ${labelSelector === undefined ? "" : `with labels "${labelSelector}" `}${where}`;
}

/** Returns the name of a pool in messages. */
export function poolName({ namespace, name }: PoolRef): string {
  return `${namespace}/${name}`;
}

function keyOf(object: unknown): string {
  const { namespace, name } = (object as { metadata?: Partial<PoolRef> }).metadata ?? {};
  return `${namespace}/${name}`;
}

/** Returns kind and name of a pool's object, and the namespace of its Events. */
export function objectOfEvents(pool: PoolRef): { kind: PoolKind; namespace: string; name: string } {
  const object = objectOf(pool);
  // Events about an object without a namespace are in namespace default (client-go).
  return { ...object, namespace: object.kind === "ScalingGroup" ? "default" : pool.namespace };
}

/** The kind and the name of a pool's object. */
function objectOf(pool: PoolRef): { kind: PoolKind; name: string } {
  const { kind = "MachineDeployment", name } = pool;
  return { kind, name: groupOfPool(pool) ?? (kind === "NodePool" ? nodePoolOf(pool) : undefined) ?? name };
}

/** Returns the kind and the name of a pool's object, for messages. */
export function objectText(pool: PoolRef): string {
  const { kind, name } = objectOf(pool);
  return kind === "ScalingGroup" ? `${kind} "${name}"` : `${kind} "${pool.namespace}/${name}"`;
}

async function notFound({ kube }: NamedCluster, pool: PoolRef): Promise<string> {
  const { namespace } = pool;
  const { kind, name } = objectOf(pool);
  // The list only makes the message more helpful, so the message is returned even if the user may not list pools.
  const names = await ifAllowed(ifFound(listNames(kube, kind, namespace)));
  const elsewhere = names?.find((key) => key.endsWith(`/${name}`));
  const attempt = `Failed to find ${objectText(pool)}`;
  if (elsewhere !== undefined) {
    return `${attempt}: that name is in namespace "${elsewhere.split("/")[0]}"; select the namespace with -n`;
  }
  const here = (names ?? []).flatMap((key) => key.startsWith(`${namespace}/`) ? [key.slice(namespace.length + 1)] : []);
  const where = kind === "ScalingGroup" ? "the cluster" : "its namespace";
  return `${attempt}: ${names && here.length === 0 ? `${where} has no ${kind}` : "no such name"}${
    nearText(name, here)
  }`;
}

/** Returns the objects of a kind as `namespace/name`; cluster-scoped objects get the namespace of their pools. */
async function listNames(kube: Kube, kind: PoolKind, namespace: string): Promise<string[]> {
  if (kind !== "ScalingGroup") return (await listReadable(kube, namespaced[kind], namespace)).items.map(keyOf);
  const groups = await listAll(kube, scalingGroups);
  return groups.map((group) => `${groupsNamespace}/${(group as { metadata: { name: string } }).metadata.name}`);
}

const namespaced = { MachineDeployment: machineDeployments, NodePool: nodePools };

/** Returns an object unparsed; undefined if it does not exist. */
export async function rawObject(
  kube: Kube,
  { group, version, plural }: { group: string; version: string; plural: string },
  name: PoolRef,
): Promise<unknown> {
  const { namespace, name: of } = name;
  return await ifFound(kube.custom.getNamespacedCustomObject({ group, version, plural, namespace, name: of }));
}
