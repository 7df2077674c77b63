/**
 * Reads all pools with the facts that decide whether and how each can be handed over, by one list per kind of object
 * for all pools together.
 */
import type { Cluster } from "../cluster.ts";
import { type ArtefactNames, namesOf, secretsNamespace } from "../../profiles/mod.ts";
import { isOfThisCluster, profileAnnotation } from "../config/identity.ts";
import { digestAnnotation, ownerAnnotation, secretRevisionAnnotation } from "../config/names.ts";
import { profileRef } from "../config/read_profile.ts";
import { revisionAnnotation } from "../kube/machine_deployment.ts";
import { configs, MachineDeployment, machineDeployments, rollouts } from "../kube/resources.ts";
import { type Head, headOf, listEach, listSecretHeads } from "./listing.ts";
import { type MachineOfPool, readMachines } from "./machines.ts";

/** The bootstrap secret of the pool's machines. */
interface BootSecret {
  /**
   * "OSM": has no owner annotation, because Operating System Manager sets none. "Claimed": made by Operating System
   * Manager, and claimed with the annotation by Ostler. "Ostler": published by Ostler. "Other": owned by another pool.
   */
  maker: "OSM" | "Claimed" | "Ostler" | "Other";
  revision: string;
}

export interface HandoverPool {
  namespace: string;
  name: string;
  /** The MachineDeployment; absent if it was deleted. */
  deployment?: {
    revision: string;
    isLeaving: boolean;
    annotations: Record<string, string>;
    /** Absent if the MachineDeployment does not name a profile and has no default one, or cannot be read. */
    profile?: { namespace: string; name: string };
    /** Whether an annotation names the profile; Operating System Manager ignores MachineDeployments without it. */
    isNamed: boolean;
    provider: string;
  };
  /** Phase of its Rollout; "" if the Rollout has none. Absent without a Rollout. */
  phase?: string;
  /** The workflow id of its runs, as in its Rollout. */
  workflowId?: string;
  boot?: BootSecret;
  /** Names of the pool's existing objects, of the kinds that both systems make. */
  artefacts: string[];
  /** Other pools for which an object with the name of one of this pool's objects would be made. */
  rivals: string[];
  /** Machines that Ostler holds, by an annotation that makes machine-controller ignore them. */
  held: string[];
  /** Machines that are not held and have no node yet. */
  booting: string[];
}

/** The namespace of profiles and configs. */
export interface Place {
  profileNamespace: string;
}

/**
 * All pools, and the metadata of the configs in all namespaces, because any of these configs may belong to these pools.
 */
export interface PoolsSeen {
  pools: HandoverPool[];
  configHeads: Head[];
}

/** Reads all pools that Operating System Manager or Ostler manages, or of which objects of either system remain. */
export async function readPools(kube: Cluster, place: Place): Promise<HandoverPool[]> {
  return (await seePools(kube, place)).pools;
}

/** Reads all pools together with the metadata of all configs, so that the configs are listed only once. */
export async function seePools(kube: Cluster, { profileNamespace }: Place): Promise<PoolsSeen> {
  const [deployments, phases, heads, configHeads, machines] = await Promise.all([
    listEach(kube, machineDeployments, (object) => deploymentOf(object, profileNamespace)),
    listEach(kube, rollouts, (object) => ({ ...headOf(object as never), status: statusOf(object) })),
    listSecretHeads(kube, secretsNamespace),
    configHeadsOf(kube),
    readMachines(kube),
  ]);
  const found = new Map<string, HandoverPool>();
  const at = (namespace: string, name: string): HandoverPool => {
    const key = `${namespace}/${name}`;
    const pool = found.get(key) ?? { namespace, name, artefacts: [], rivals: [], held: [], booting: [] };
    found.set(key, pool);
    return pool;
  };
  for (const each of deployments) at(each.namespace, each.name).deployment = each.deployment;
  for (const { namespace, name, status } of phases) Object.assign(at(namespace, name), status);
  const made = [...heads, ...configHeads.filter(({ namespace }) => namespace === profileNamespace)];
  // The owner annotation on its objects is the only trace of a deleted pool.
  for (const { annotations } of made) {
    const [namespace, name] = (annotations[ownerAnnotation] ?? "").split("/");
    if (namespace && name) at(namespace, name);
  }
  addArtefacts([...found.values()], made);
  for (const machine of machines) addMachine(found.get(machine.pool), machine);
  return { pools: [...found.values()].filter(isAnybodys).sort((a, b) => keyOf(a) < keyOf(b) ? -1 : 1), configHeads };
}

/**
 * Returns the namespaces other than `profileNamespace` that contain configs with Ostler's owner annotation, or with the
 * name of a config of these pools. Such a namespace shows that `profileNamespace` may be wrong.
 */
export function strayNamespaces(
  pools: readonly HandoverPool[],
  configHeads: readonly Head[],
  { profileNamespace }: Place,
): string[] {
  const names = new Set(pools.map((pool) => namesOf(pool).config));
  const ours = configHeads.filter(({ name, annotations }) =>
    annotations[ownerAnnotation] !== undefined || names.has(name)
  );
  return [...new Set(ours.map(({ namespace }) => namespace))].filter((each) => each !== profileNamespace).sort();
}

/** Returns whether an object of one pool has the name of an object of the other. */
export function haveSameNames(one: HandoverPool, other: HandoverPool): boolean {
  const names = sharedNames(namesOf(one));
  return keyOf(one) !== keyOf(other) && sharedNames(namesOf(other)).some((name) => names.includes(name));
}

// Leaves out configs of other clusters in a management cluster: their pools, which this cluster does not have, must not
// count as deleted.
async function configHeadsOf(kube: Cluster): Promise<Head[]> {
  const heads = await listEach(kube, configs, (object) => headOf(object as never));
  const own = await Promise.all(heads.map(({ annotations }) => isOfThisCluster(kube, annotations)));
  return heads.filter((_, nth) => own[nth]);
}

// A MachineDeployment without a profile counts only if a Rollout or objects of its pool show that one of the systems
// has managed it before.
function isAnybodys({ deployment, phase, artefacts }: HandoverPool): boolean {
  return !deployment || deployment.profile !== undefined || phase !== undefined || artefacts.length > 0;
}

function addArtefacts(pools: HandoverPool[], made: Head[]): void {
  const byName = new Map(made.map((head) => [head.name, head]));
  const users = new Map<string, string[]>();
  for (const pool of pools.filter(({ deployment }) => deployment)) {
    for (const name of sharedNames(namesOf(pool))) users.set(name, [...users.get(name) ?? [], keyOf(pool)]);
  }
  for (const pool of pools) {
    const names = namesOf(pool);
    pool.artefacts = artefactNames(names).filter((name) => byName.has(name));
    pool.rivals = [...new Set(sharedNames(names).flatMap((name) => users.get(name) ?? []))]
      .filter((other) => other !== keyOf(pool));
    const boot = byName.get(names.bootstrap);
    if (boot) pool.boot = bootOf(pool, boot);
  }
}

function bootOf(pool: HandoverPool, { annotations }: Head): BootSecret {
  const owner = annotations[ownerAnnotation];
  const revision = annotations[secretRevisionAnnotation] ?? "";
  if (owner === undefined) return { maker: "OSM", revision };
  if (owner !== keyOf(pool)) return { maker: "Other", revision };
  return { maker: annotations[digestAnnotation] === undefined ? "Claimed" : "Ostler", revision };
}

/** Returns the names of the objects that both systems make for a pool. */
export function artefactNames(names: ArtefactNames): string[] {
  return [names.config, names.provisioning, names.kubeletBootstrap, names.edgeScript, names.bootstrap];
}

function sharedNames({ config, key }: ArtefactNames): string[] {
  return [config, `key ${key}`];
}

function addMachine(pool: HandoverPool | undefined, machine: MachineOfPool): void {
  if (!pool || machine.isLeaving) return;
  if (machine.isHeldByUs) pool.held.push(machine.name);
  else if (!machine.hasNode && !machine.isHeld) pool.booting.push(machine.name);
}

/** Returns a pool's name as users and annotations write it. */
export function keyOf({ namespace, name }: { namespace: string; name: string }): string {
  return `${namespace}/${name}`;
}

function statusOf(rollout: unknown): Pick<HandoverPool, "workflowId"> & { phase: string } {
  const { phase = "", workflowId } = (rollout as { status?: { phase?: string; workflowId?: string } }).status ?? {};
  return { phase, ...(workflowId ? { workflowId } : {}) };
}

interface Deployed {
  namespace: string;
  name: string;
  deployment: NonNullable<HandoverPool["deployment"]>;
}

// Keeps a MachineDeployment that cannot be parsed, because the secrets of its machines must not count as unused.
function deploymentOf(object: unknown, profileNamespace: string): Deployed {
  const parsed = MachineDeployment.safeParse(object).data;
  const { name, namespace, annotations } = headOf(object as never);
  const profile = parsed && profileRef(parsed, profileNamespace);
  const value = parsed?.spec.template?.spec?.providerSpec?.value as { cloudProvider?: unknown } | undefined;
  const { deletionTimestamp } = (object as { metadata: { deletionTimestamp?: unknown } }).metadata;
  const deployment = {
    ...{ revision: annotations[revisionAnnotation] ?? "", isLeaving: deletionTimestamp !== undefined, annotations },
    ...(profile ? { profile } : {}),
    ...{ isNamed: Boolean(annotations[profileAnnotation]), provider: String(value?.cloudProvider ?? "") },
  };
  return { name, namespace, deployment };
}
