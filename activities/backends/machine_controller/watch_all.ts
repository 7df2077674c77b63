/**
 * Watches MachineDeployments, their profiles and the nodes of their machines; keeps only the facts whose changes it
 * reports.
 */
import { finalizer } from "../../config/identity.ts";
import { type Observable, observableOf, observedOf } from "../../config/observed.ts";
import { type LinedProfile, lineState, profileLine } from "../../config/profile_line.ts";
import { profileRef } from "../../config/read_profile.ts";
import type { Kube } from "../../kube/client.ts";
import { Informer } from "../../kube/informer.ts";
import {
  type GroupedResource,
  Machine,
  MachineDeployment,
  machineDeployments,
  machines,
  MachineSet,
  machineSets,
  type ObjectName,
  profiles,
  type Resource,
} from "../../kube/resources.ts";
import type { PoolFacts, PoolSource, WatchDeps } from "../contract.ts";
import { JoinedNodes } from "../joined_nodes.ts";
import { illnessAmong, type NodeWatch, watchedNodes } from "../watched_nodes.ts";
import { hasJoined } from "./observe_pool.ts";

/** Watches the MachineDeployments that have a profile, and those that wait for Ostler to clean up. */
export function watchMachineDeployments(kube: Kube, { profileNamespace, onChange, ...deps }: WatchDeps): PoolSource {
  const deployments = new Informer(watchedDeployments(profileNamespace), { kube, ...deps, onChange });
  const templates = new Informer(profiles, {
    ...{ kube, ...deps },
    onChange: (key) => deployments.keys().filter((pool) => usesProfile(pool, key)).forEach((pool) => onChange(pool)),
  });
  const nodes = watchNodes(kube, { ...deps, onChange });
  const lineOf = (key: string): LinedProfile[] => {
    const ref = deployments.get(key)?.profile;
    return ref ? profileLine(ref, ({ namespace, name }) => templates.get(`${namespace}/${name}`)) : [];
  };
  const usesProfile = (pool: string, profile: string): boolean =>
    lineOf(pool).some(({ ref }) => `${ref.namespace}/${ref.name}` === profile);
  const find = (key: string): PoolFacts | undefined => {
    const deployment = deployments.get(key);
    const line = lineOf(key);
    if (!deployment || (line.length === 0 && !deployment.isHeld)) return undefined;
    const { namespace, name, labels, isNumbered, metadata: { generation = 0 } } = deployment;
    return {
      ...{
        pool: { namespace, name },
        generation,
        isNumbered,
        observed: observedOf(deployment, lineState(line)),
        labels,
      },
      illness: (conditions) => nodes.illness(key, conditions),
    };
  };
  return {
    find,
    keys: () => deployments.keys(),
    start: async () => void await Promise.all([nodes, templates, deployments].map((each) => each.start())),
  };
}

/** The facts kept of a MachineDeployment. */
interface DeploymentFacts extends Observable {
  namespace: string;
  name: string;
  labels: Record<string, string>;
  /** The pool's profile; missing from a MachineDeployment that Ostler does not manage. */
  profile?: ObjectName;
  /** Whether the MachineDeployment has Ostler's finalizer. */
  isHeld: boolean;
  /** Whether machine-controller has observed this generation, or the MachineDeployment is being deleted. */
  isNumbered: boolean;
}

/** MachineDeployments as the controller watches them; `profileNamespace` is the default namespace of profiles. */
export function watchedDeployments(profileNamespace: string): Resource<DeploymentFacts> {
  const schema = MachineDeployment.transform((deployment): DeploymentFacts => {
    const { namespace, name, generation = 0, labels = {}, finalizers = [], deletionTimestamp } = deployment.metadata;
    const profile = profileRef(deployment, profileNamespace);
    return {
      ...observableOf(deployment),
      ...{ namespace, name, labels },
      ...(profile ? { profile } : {}),
      isHeld: finalizers.includes(finalizer),
      isNumbered: deletionTimestamp !== undefined || (deployment.status?.observedGeneration ?? 0) >= generation,
    };
  });
  return { ...machineDeployments, schema };
}

// Nodes, and the machines and sets that assign them to pools.

/**
 * Watches nodes for failures to repair; reports a pool when its joined machines, or the conditions of their nodes,
 * change.
 */
function watchNodes(kube: Kube, { onChange, ...deps }: Pick<WatchDeps, "onChange" | "log" | "signal">): NodeWatch {
  const joined = new JoinedNodes();
  const sets = new Informer(ownedSets, {
    ...{ kube, ...deps },
    onChange: (set) => machines.group("set", set).forEach(([key]) => look(key)),
  });
  const look = (key: string): void => {
    const { set = "", node } = machines.get(key) ?? {};
    const pool = sets.get(set)?.pool;
    joined.place(key, pool && node ? { pool, node } : undefined).forEach((each) => onChange(each));
  };
  const machines = new Informer(joinedMachines, { kube, ...deps, onChange: look });
  const nodes = new Informer(watchedNodes, {
    ...{ kube, ...deps },
    onChange: (node) => [joined.poolOf(node)].forEach((pool) => pool && onChange(pool)),
  });
  return {
    illness: (pool, conditions) =>
      illnessAmong(joined.nodesOf(pool).map((node) => [node, nodes.get(node)]), conditions),
    // The watch of the sets starts first and the watch of the nodes last, because a machine without its set, or a node
    // without its machine, would be evaluated a second time.
    start: async () => {
      await sets.start();
      await machines.start();
      await nodes.start();
    },
  };
}

/**
 * Set and node of a machine that has joined and is not being deleted; empty for any other machine, because the rollout
 * that creates or deletes that machine watches it.
 */
interface JoinedMachine {
  set?: string;
  node?: string;
}

/** The pool of a set, as "namespace/name". */
interface OwnedSet {
  pool?: string;
}

/** Machines that have joined. */
export const joinedMachines: GroupedResource<JoinedMachine> = {
  ...machines,
  schema: Machine.transform(joinedMachine),
  groupsOf: ({ set = "" }) => ({ set }),
};
/** MachineSets with the MachineDeployment that owns them. */
export const ownedSets: Resource<OwnedSet> = { ...machineSets, schema: MachineSet.transform(ownedSet) };

function joinedMachine(machine: Machine): JoinedMachine {
  const { metadata, status } = machine;
  const set = metadata.ownerReferences?.find(({ kind }) => kind === "MachineSet")?.name;
  const node = status?.nodeRef?.name;
  if (!set || !node || metadata.deletionTimestamp || !hasJoined(machine)) return {};
  return { set: `${metadata.namespace}/${set}`, node };
}

function ownedSet({ metadata }: MachineSet): OwnedSet {
  const owner = metadata.ownerReferences?.find(({ kind }) => kind === "MachineDeployment");
  return owner ? { pool: `${metadata.namespace}/${owner.name}` } : {};
}
