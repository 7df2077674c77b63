/** Wakes the waits of a process for what happens to pools and machines: one slim watch a kind, for all of them. */
import type { Cluster } from "../../cluster.ts";
import type { PoolRef } from "../../../workflows/contracts/mod.ts";
import { revisionAnnotation, templateHashLabel } from "../../kube/machine_deployment.ts";
import { News, sourceOf } from "../../kube/polling.ts";
import {
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
import { holdAnnotation, instanceFinalizer, victimAnnotation } from "./holds.ts";

interface PoolWatches {
  readonly deployments: SharedWatch<DeploymentFacts>;
  readonly sets: SharedWatch<SetFacts>;
  readonly machines: SharedWatch<MachineFacts>;
}

/** Watches machines while a caller waits, and templates, which every change needs, for as long as the process lives. */
export function poolWatchesOf({ watches }: Cluster): PoolWatches {
  return {
    deployments: watches.of(watchedDeployments, { lasts: true }),
    sets: watches.of(watchedSets, { lasts: true }),
    machines: watches.of(watchedMachines),
  };
}

/** Begins to watch what tells of templates. */
export function watchTemplates(kube: Cluster): void {
  const { deployments, sets } = poolWatchesOf(kube);
  deployments.ask();
  sets.ask();
}

/** News of a MachineDeployment and of its sets. */
export function newsOfTemplate(kube: Cluster, { namespace, name }: PoolRef): News {
  const { deployments, sets } = poolWatchesOf(kube);
  const pool = `${namespace}/${name}`;
  return new News([
    sourceOf(deployments, ({ key }) => key === pool),
    sourceOf(sets, ({ before, now }) => before?.pool === pool || now?.pool === pool),
  ]);
}

/** News of a pool: of its MachineDeployment and sets, of its machines, and of `nodes()`, by name. */
export function newsOfPool(kube: Cluster, { namespace, name }: PoolRef, nodes: () => ReadonlySet<string>): News {
  const { deployments, sets, machines } = poolWatchesOf(kube);
  const pool = `${namespace}/${name}`;
  // One whose set is not known yet may be anybody's.
  const isOwn = ({ set }: MachineFacts): boolean => (sets.get(set)?.pool ?? pool) === pool;
  const isNear = (key: string): boolean => key.startsWith(`${namespace}/`);
  return new News([
    sourceOf(deployments, ({ key }) => key === pool),
    sourceOf(sets, ({ before, now }) => before?.pool === pool || now?.pool === pool),
    sourceOf(machines, ({ key, before, now }) => isNear(key) && [before, now].some((each) => each && isOwn(each))),
    sourceOf(kube.nodes, ({ key }) => nodes().has(key)),
  ]);
}

/** News of machines, and of `nodes()` where they matter, by name. */
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
 * Waits until the watches tell that machine-controller has numbered a generation, at the latest `until` (epoch ms); asks
 * nothing itself. Where nothing is watched yet, it begins to be.
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
 * The hash of the template that has the MachineDeployment's own revision, where a watch knows it. It may be late, but not
 * wrong: no two sets of one MachineDeployment ever have the same revision.
 */
export function watchedHash(kube: Cluster, { uid, annotations }: Pick<Metadata, "uid" | "annotations">): string {
  const { sets } = poolWatchesOf(kube);
  const revision = annotations?.[revisionAnnotation] ?? "";
  if (!sets.isFresh || revision === "") return "";
  return [...sets.values()].find((set) => set.owner === uid && set.revision === revision)?.templateHash ?? "";
}

/** Whether the watches know better than to ask if machine-controller has numbered the template: it surely has not. */
export function isSurelyUnsettled(kube: Cluster, { namespace, name }: PoolRef): boolean {
  const { deployments, sets } = poolWatchesOf(kube);
  const pool = `${namespace}/${name}`;
  const facts = deployments.get(pool);
  if (!deployments.isFresh || !sets.isFresh || !facts) return false;
  if (facts.observed < facts.generation || facts.revision === "") return true;
  return ![...sets.values()].some((set) => set.pool === pool && set.revision === facts.revision);
}

/** The labels of the machines of a pool that has none, but for some on their way out, as watches tell; "" where they do not. */
export function selectorOfEmpty(kube: Cluster, { namespace, name }: PoolRef): string {
  const { deployments, sets } = poolWatchesOf(kube);
  const pool = `${namespace}/${name}`;
  if (!deployments.isFresh || !sets.isFresh) return "";
  const own = [...sets.values()].filter((set) => set.pool === pool);
  return own.every(({ isEmpty }) => isEmpty) ? deployments.get(pool)?.selector ?? "" : "";
}

/** Changes of a spec until its MachineDeployment can have asked for machines and for none again; one is that of defaults. */
const changesAtMost = 2;

/**
 * Returns whether a MachineDeployment that was just read never had a machine: it desires none, has hardly changed, and
 * its MachineSets were created for none. A late watch does not make this wrong, as changes arrive in order.
 */
export function isSurelyUnused(kube: Cluster, { metadata, spec }: MachineDeployment): boolean {
  const { uid, generation = Infinity, annotations } = metadata;
  const { sets } = poolWatchesOf(kube);
  if (!sets.isFresh || spec.replicas !== 0 || generation > changesAtMost) return false;
  const own = [...sets.values()].filter(({ owner }) => owner === uid);
  const desired = annotations?.[revisionAnnotation] ?? "";
  return own.some(({ revision }) => revision === desired) && own.every(({ isUnused }) => isUnused);
}

/** Returns the UID of a MachineDeployment as a watch has it; undefined if the watch is not current, or has none. */
export function watchedUid(
  kube: Cluster,
  { namespace, name }: Pick<PoolRef, "namespace" | "name">,
): string | undefined {
  const { deployments } = poolWatchesOf(kube);
  return deployments.isFresh ? deployments.get(`${namespace}/${name}`)?.uid : undefined;
}

/** Ready nodes that machine-controller counts in each of the pool's sets, by template hash; undefined while not all is known. */
export function countedReady(kube: Cluster, { namespace, name }: PoolRef): ReadonlyMap<string, number> | undefined {
  const { sets } = poolWatchesOf(kube);
  if (!sets.isFresh) return undefined;
  const own = [...sets.values()].filter(({ pool }) => pool === `${namespace}/${name}`);
  return new Map(own.map(({ templateHash, ready }) => [templateHash, ready]));
}

// What of machine-controller's objects a wait can wait for; no more of them is kept while they are watched.

interface DeploymentFacts {
  uid: string;
  generation: number;
  observed: number;
  revision: string;
  /** The labels that its machines have; "" for none. */
  selector: string;
  /** Identity of all else that waits are about. */
  state: string;
}

interface SetFacts {
  /** The pool that it belongs to, as "namespace/name"; "" for none. */
  pool: string;
  /** UID of that pool. */
  owner: string;
  revision: string;
  templateHash: string;
  /** It has no machines and shall have none; those on their way out do not count. */
  isEmpty: boolean;
  /** It was made for no machine, and nothing else has been asked of it since. */
  isUnused: boolean;
  ready: number;
}

interface MachineFacts {
  /** The set that it belongs to, as "namespace/name"; "" for none. */
  set: string;
  /** Identity of all that its place in the pool and on its way to join depend on. */
  state: string;
}

const watchedDeployments: Resource<DeploymentFacts> = {
  ...machineDeployments,
  schema: MachineDeployment.transform(({ metadata, spec, status }) => ({
    ...{ uid: metadata.uid, generation: metadata.generation ?? 0, observed: status?.observedGeneration ?? 0 },
    revision: metadata.annotations?.[revisionAnnotation] ?? "",
    selector: selectorText(spec.selector ?? {}),
    state: digest([metadata.uid, metadata.deletionTimestamp]),
  })),
};

const watchedSets: Resource<SetFacts> = {
  ...machineSets,
  schema: MachineSet.transform(({ metadata, spec, status }) => ({
    pool: nameOf(metadata, "MachineDeployment"),
    owner: ownerOf(metadata, "MachineDeployment")?.uid ?? "",
    revision: metadata.annotations?.[revisionAnnotation] ?? "",
    templateHash: metadata.labels?.[templateHashLabel] ?? "",
    isUnused: metadata.generation === 1 && spec?.replicas === 0 && !status?.replicas,
    isEmpty: spec?.replicas === 0 && !status?.replicas,
    ready: status?.readyReplicas ?? 0,
  })),
};

const watchedMachines: Resource<MachineFacts> = {
  ...machines,
  schema: Machine.transform((machine) => ({
    set: nameOf(machine.metadata, "MachineSet"),
    state: stateOf(machine),
  })),
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
