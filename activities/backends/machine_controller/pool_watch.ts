/**
 * Reports changes of pools and machines to the waiting activities of a process. There is one watch per kind of object,
 * which keeps few facts of each object.
 */
import type { Cluster } from "../../cluster.ts";
import type { PoolRef } from "../../../workflows/contracts/mod.ts";
import { revisionAnnotation, templateHashLabel } from "../../kube/machine_deployment.ts";
import { countedIn, factsOf, isAtRisk, type SetFacts, type Templates } from "../../kube/machine_sets.ts";
import { News, sourceOf } from "../../kube/polling.ts";
import {
  type GroupedResource,
  Machine,
  MachineDeployment,
  machineDeployments,
  machines,
  MachineSet,
  machineSets,
  type Metadata,
  type Resource,
} from "../../kube/resources.ts";
import type { SharedWatch } from "../../kube/informer.ts";
import { createHash } from "node:crypto";
import { selectorText } from "../../kube/status.ts";
import { holdAnnotation, instanceFinalizer, victimAnnotation } from "./annotations.ts";

/**
 * Annotations of a MachineDeployment that let cluster-autoscaler change its size (provider clusterapi, with
 * CAPI_GROUP=cluster.k8s.io).
 */
export const autoscalerBounds = {
  min: "cluster.k8s.io/cluster-api-autoscaler-node-group-min-size",
  max: "cluster.k8s.io/cluster-api-autoscaler-node-group-max-size",
} as const;

/**
 * Annotation of a MachineDeployment for which Ostler has raised the minimum size that an autoscaler must keep: the
 * previous minimum, and the raised one.
 */
export const formerMinimumAnnotation = "ostler.dev/autoscaler-min-size";

const autoscalerAnnotations: string[] = [...Object.values(autoscalerBounds), formerMinimumAnnotation];

interface PoolWatches {
  readonly deployments: SharedWatch<DeploymentFacts>;
  readonly sets: SharedWatch<WatchedSet>;
  readonly machines: SharedWatch<MachineFacts>;
}

/**
 * Returns the watches. The watch of Machines runs only while a caller waits; the watches of MachineDeployments and
 * MachineSets, which every change needs, run until the process ends.
 */
export function poolWatchesOf({ watches }: Cluster): PoolWatches {
  return {
    deployments: watches.of(watchedDeployments, { lasts: true }),
    sets: watches.of(watchedSets, { lasts: true }),
    machines: watches.of(watchedMachines),
  };
}

/** Begins to watch MachineDeployments and MachineSets. */
export function watchTemplates(kube: Cluster): void {
  const { deployments, sets } = poolWatchesOf(kube);
  deployments.ask();
  sets.ask();
}

/** Returns whether no autoscaler may change the size of a MachineDeployment; undefined if no watch has it. */
export function isWithoutAutoscaler(kube: Cluster, { namespace, name }: PoolRef): boolean | undefined {
  const { deployments } = poolWatchesOf(kube);
  const facts = deployments.isFresh ? deployments.get(`${namespace}/${name}`) : undefined;
  return facts && !facts.isAutoscaled;
}

/** Reports to a waiting activity: changes of a MachineDeployment and its MachineSets. */
export function newsOfTemplate(kube: Cluster, { namespace, name }: PoolRef): News {
  const { deployments, sets } = poolWatchesOf(kube);
  const pool = `${namespace}/${name}`;
  return new News([
    sourceOf(deployments, ({ key }) => key === pool),
    sourceOf(sets, ({ before, now }) => before?.pool === pool || now?.pool === pool),
  ]);
}

/**
 * Reports to a waiting activity: changes of a MachineDeployment, its MachineSets and Machines, and the nodes named by
 * `nodes()`.
 */
export function newsOfPool(kube: Cluster, { namespace, name }: PoolRef, nodes: () => ReadonlySet<string>): News {
  const { deployments, sets, machines } = poolWatchesOf(kube);
  const pool = `${namespace}/${name}`;
  // A machine of an unknown set may belong to any pool.
  const isOwn = ({ set }: MachineFacts): boolean => (sets.get(set)?.pool ?? pool) === pool;
  const isNear = (key: string): boolean => key.startsWith(`${namespace}/`);
  return new News([
    sourceOf(deployments, ({ key }) => key === pool),
    sourceOf(sets, ({ before, now }) => before?.pool === pool || now?.pool === pool),
    sourceOf(machines, ({ key, before, now }) => isNear(key) && [before, now].some((each) => each && isOwn(each))),
    sourceOf(kube.nodes, ({ key }) => nodes().has(key)),
  ]);
}

/** Reports to a waiting activity: changes of Machines, and of the nodes named by `nodes()`, if given. */
export function newsOfMachines(
  kube: Cluster,
  { namespace, names }: { namespace: string; names: readonly string[] },
  nodes?: () => ReadonlySet<string>,
): News {
  const keys = new Set(names.map((name) => `${namespace}/${name}`));
  return new News([
    sourceOf(poolWatchesOf(kube).machines, ({ key }) => keys.has(key)),
    ...(nodes ? [sourceOf(kube.nodes, ({ key }) => nodes().has(key))] : []),
  ]);
}

/**
 * Waits until the watches show that machine-controller has given a generation of a MachineDeployment its revision;
 * returns false if they do not by `until` (epoch ms). Sends no request, but starts missing watches.
 */
export async function settledBy(
  kube: Cluster,
  pool: PoolRef,
  { generation, until }: { generation: number; until: number },
): Promise<boolean> {
  const { deployments, sets } = poolWatchesOf(kube);
  using news = newsOfTemplate(kube, pool);
  const never = new AbortController().signal;
  for (;;) {
    const facts = deployments.get(`${pool.namespace}/${pool.name}`);
    const isKnown = deployments.isFresh && sets.isFresh && facts !== undefined && facts.generation >= generation;
    if (isKnown && !isSurelyUnsettled(kube, pool)) return true;
    const left = until - Date.now();
    if (left <= 0) return false;
    await news.next(Math.min(left, 500), never);
  }
}

/**
 * Returns the hash of the template with the MachineDeployment's own revision; "" if the watch does not show it yet. The
 * hash is never that of another template, because no two MachineSets of a MachineDeployment ever have the same
 * revision.
 */
export function watchedHash(kube: Cluster, { uid, annotations }: Pick<Metadata, "uid" | "annotations">): string {
  const { sets } = poolWatchesOf(kube);
  const revision = annotations?.[revisionAnnotation] ?? "";
  if (!sets.isFresh || revision === "") return "";
  return setsOf(sets, { owner: uid }).find((set) => set.revision === revision)?.templateHash ?? "";
}

/**
 * Returns whether the watches show that machine-controller has not given the template its revision yet; false while the
 * watches are not up to date.
 */
export function isSurelyUnsettled(kube: Cluster, { namespace, name }: PoolRef): boolean {
  const { deployments, sets } = poolWatchesOf(kube);
  const pool = `${namespace}/${name}`;
  const facts = deployments.get(pool);
  if (!deployments.isFresh || !sets.isFresh || !facts) return false;
  if (facts.observed < facts.generation || facts.revision === "") return true;
  return !setsOf(sets, { pool }).some((set) => set.revision === facts.revision);
}

/**
 * Returns the label selector of a pool of which the watches show no machines, apart from machines that are being
 * deleted; "" for any other pool.
 */
export function selectorOfEmpty(kube: Cluster, { namespace, name }: PoolRef): string {
  const { deployments, sets } = poolWatchesOf(kube);
  const pool = `${namespace}/${name}`;
  if (!deployments.isFresh || !sets.isFresh) return "";
  const own = setsOf(sets, { pool });
  return own.every(({ isEmpty }) => isEmpty) ? deployments.get(pool)?.selector ?? "" : "";
}

/**
 * Highest generation at which the replicas cannot have been raised and lowered again, which takes two updates and so
 * makes the generation 3. One update is allowed, because it may only have set defaults.
 */
const changesAtMost = 2;

/**
 * Returns whether a MachineDeployment that was just read never had a machine: it has zero replicas, has hardly changed,
 * and its MachineSets were created with zero replicas. A watch that lags does not make this wrong, because it reports
 * the changes of an object in their order.
 */
export function isSurelyUnused(kube: Cluster, { metadata, spec }: MachineDeployment): boolean {
  const { uid, generation = Infinity, annotations } = metadata;
  const { sets } = poolWatchesOf(kube);
  if (!sets.isFresh || spec.replicas !== 0 || generation > changesAtMost) return false;
  const own = setsOf(sets, { owner: uid });
  const desired = annotations?.[revisionAnnotation] ?? "";
  return own.some(({ revision }) => revision === desired) && own.every(({ isUnused }) => isUnused);
}

/**
 * Returns the UID of a MachineDeployment from the watch; undefined if the watch is not up to date or does not have it.
 */
export function watchedUid(
  kube: Cluster,
  { namespace, name }: Pick<PoolRef, "namespace" | "name">,
): string | undefined {
  const { deployments } = poolWatchesOf(kube);
  return deployments.isFresh ? deployments.get(`${namespace}/${name}`)?.uid : undefined;
}

/**
 * Returns the Ready nodes that machine-controller counts in each of the pool's sets, by template hash; undefined while
 * unknown.
 */
export function countedReady(kube: Cluster, { namespace, name }: PoolRef): ReadonlyMap<string, number> | undefined {
  const { sets } = poolWatchesOf(kube);
  if (!sets.isFresh) return undefined;
  const own = setsOf(sets, { pool: `${namespace}/${name}` });
  return new Map(own.map(({ templateHash, ready }) => [templateHash, ready]));
}

/**
 * Returns whether the watch shows that machine-controller does not delete the MachineSet of the last good template;
 * false while the watch does not have the desired template.
 */
export function isSurelySafe(kube: Cluster, deployment: MachineDeployment, templates: Templates): boolean {
  const { sets } = poolWatchesOf(kube);
  const own = sets.isFresh ? setsOf(sets, { owner: deployment.metadata.uid }) : [];
  const isSeen = own.some(({ templateHash }) => templateHash === templates.desired);
  return isSeen && !isAtRisk(deployment, own, templates);
}

/**
 * Returns the MachineSets of a pool, by the name or UID of its MachineDeployment, without a pass over all MachineSets.
 */
function setsOf(sets: SharedWatch<WatchedSet>, by: { pool: string } | { owner: string }): WatchedSet[] {
  const found = "pool" in by ? sets.group("pool", by.pool) : sets.group("owner", by.owner);
  return found.map(([, facts]) => facts);
}

// The facts that waiting activities depend on; the watches keep nothing else of machine-controller's objects.

interface DeploymentFacts {
  uid: string;
  generation: number;
  observed: number;
  revision: string;
  /** Label selector of the pool's machines; "" without one. */
  selector: string;
  /** Whether an autoscaler may change the pool's size, or Ostler has raised its minimum. */
  isAutoscaled: boolean;
  /** A digest of UID and deletion timestamp, so that a change of them is reported to waiting activities. */
  state: string;
}

interface WatchedSet extends SetFacts {
  /** The MachineDeployment of the set, as "namespace/name"; "" without one. */
  pool: string;
  /** UID of that MachineDeployment. */
  owner: string;
  revision: string;
  /** Whether the set has zero replicas and no machines; machines being deleted do not count. */
  isEmpty: boolean;
  /** Whether the set was created with zero replicas and has not changed since. */
  isUnused: boolean;
  /** Result of `countedIn`. */
  ready: number;
}

interface MachineFacts {
  /** The MachineSet of the machine, as "namespace/name"; "" without one. */
  set: string;
  /** The Node that the Machine names, with the Machine's identity; undefined if it names none. */
  namer: Namer | undefined;
  /** A text that changes with everything on which the machine's phase and progress depend. */
  state: string;
}

/** A Machine that names a Node. */
export interface Namer {
  namespace: string;
  name: string;
  uid: string;
  /** Creation time of the Machine (RFC 3339). */
  since: string;
  node: string;
  /** Provider ID of the Machine's instance; "" while it is unknown. */
  instance: string;
}

/** Returns the facts of a Machine that names a Node; undefined for any other. */
export function namerOf({ metadata, spec, status }: Machine): Namer | undefined {
  const node = status?.nodeRef?.name;
  if (!node) return undefined;
  const { namespace, name, uid, creationTimestamp: since } = metadata;
  const { providerID } = spec;
  return { namespace, name, uid, since, node, instance: typeof providerID === "string" ? providerID : "" };
}

const watchedDeployments: Resource<DeploymentFacts> = {
  ...machineDeployments,
  schema: MachineDeployment.transform(({ metadata, spec, status }) => ({
    ...{ uid: metadata.uid, generation: metadata.generation ?? 0, observed: status?.observedGeneration ?? 0 },
    revision: metadata.annotations?.[revisionAnnotation] ?? "",
    selector: selectorText(spec.selector ?? {}),
    isAutoscaled: Object.keys(metadata.annotations ?? {}).some((key) => autoscalerAnnotations.includes(key)),
    state: digest([metadata.uid, metadata.deletionTimestamp]),
  })),
};

const watchedSets: GroupedResource<WatchedSet> = {
  ...machineSets,
  schema: MachineSet.transform(({ metadata, spec, status }) => ({
    pool: nameOf(metadata, "MachineDeployment"),
    owner: ownerOf(metadata, "MachineDeployment")?.uid ?? "",
    revision: metadata.annotations?.[revisionAnnotation] ?? "",
    ...factsOf({ metadata }),
    isUnused: metadata.generation === 1 && spec?.replicas === 0 && !status?.replicas,
    isEmpty: spec?.replicas === 0 && !status?.replicas,
    ready: countedIn({ metadata, spec, status }),
  })),
  groupsOf: ({ pool, owner }) => ({ pool, owner }),
};

const watchedMachines: GroupedResource<MachineFacts> = {
  ...machines,
  schema: Machine.transform((machine) => ({
    set: nameOf(machine.metadata, "MachineSet"),
    state: stateOf(machine),
    namer: namerOf(machine),
  })),
  groupsOf: ({ namer }) => ({ node: namer?.node ?? "" }),
};

function stateOf({ metadata, status }: Machine): string {
  const { uid, deletionTimestamp, annotations = {}, labels = {}, finalizers = [] } = metadata;
  const { nodeRef, addresses, conditions, errorReason, errorMessage } = status ?? {};
  return digest([
    ...[uid, deletionTimestamp, labels[templateHashLabel], finalizers.includes(instanceFinalizer)],
    ...[annotations[holdAnnotation], annotations[victimAnnotation]],
    ...[nodeRef?.name, addresses?.map(({ address }) => address), errorReason, errorMessage],
    conditions?.map(({ type, status }) => [type, status]),
  ]);
}

function nameOf(metadata: Metadata, wanted: string): string {
  const owner = ownerOf(metadata, wanted);
  return owner ? `${metadata.namespace}/${owner.name}` : "";
}

function ownerOf({ ownerReferences = [] }: Metadata, wanted: string): { name: string; uid: string } | undefined {
  return ownerReferences.find(({ kind }) => kind === wanted);
}

function digest(facts: unknown[]): string {
  return createHash("sha256").update(JSON.stringify(facts)).digest("base64").slice(0, 16);
}
