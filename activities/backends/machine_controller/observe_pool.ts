/** The machines of a MachineDeployment, read from its Machines and MachineSets. */
import type { Cluster } from "../../cluster.ts";
import type { Member, MemberPhase, PoolRef } from "../../../workflows/contracts/mod.ts";
import { moot } from "../../failures.ts";
import type { Kube } from "../../kube/client.ts";
import {
  listObjects,
  type Machine,
  type MachineDeployment,
  machineDeployments,
  machines,
  type MachineSet,
  readObject,
} from "../../kube/resources.ts";
import { attempting, ifFound } from "../../kube/status.ts";
import type { MachineState, MemberRef, Observation } from "../contract.ts";
import { imageOf, kubeletOf, labelSelectorOf, templateHashLabel } from "../../kube/machine_deployment.ts";
import { countedIn, isCurrent, isOwned, ownSets } from "../../kube/machine_sets.ts";
import { readClaims, readStanding } from "./node_claims.ts";
import { selectorOfEmpty } from "./pool_watch.ts";
import { isOwnHold } from "../../node/holder.ts";
import type { NodeStanding } from "../../node/node_claim.ts";
import { holdAnnotation, instanceFinalizer, victimAnnotation } from "./annotations.ts";

/**
 * Reads all machines and the desired template; the template is "" if the pool has no machines. Throws Moot if the
 * MachineDeployment was deleted.
 */
export function observePool(kube: Cluster, pool: PoolRef): Promise<Observation> {
  return attempting(
    `read the machines of MachineDeployment "${pool.namespace}/${pool.name}"`,
    () => observe(kube, pool),
  );
}

async function observe(kube: Cluster, pool: PoolRef): Promise<Observation> {
  const { namespace, name } = pool;
  const labelSelector = selectorOfEmpty(kube, pool);
  const isBare = labelSelector !== "" && (await listObjects(kube, machines, { namespace, labelSelector })).length === 0;
  if (isBare) return { members: [], templateHash: "", counted: new Map() };
  const deployment = await ifFound(readObject(kube, machineDeployments, { namespace, name }));
  if (!deployment) {
    throw moot(
      "GenerationStale",
      `Failed to read the machines of MachineDeployment "${namespace}/${name}": the MachineDeployment was deleted`,
    );
  }
  const owned = await ownMachines(kube, deployment);
  return {
    members: owned.machines.map((machine) => memberOf(pool, machine)),
    templateHash: hashOf(owned.sets.find((set) => isCurrent(set, deployment))),
    counted: new Map(owned.sets.map((set) => [hashOf(set), countedIn(set)])),
    claims: await readClaims(kube, owned.machines),
  };
}

function hashOf(set: MachineSet | undefined): string {
  return set?.metadata.labels?.[templateHashLabel] ?? "";
}

// A Machine as the rollout planner sees it.

/** Reads phase, hold and mark from a Machine's metadata and status. */
export function memberOf(pool: PoolRef, machine: Machine): Member {
  const { metadata, status, spec } = machine;
  const node = status?.nodeRef?.name;
  return {
    id: metadata.name,
    ...(node ? { node } : {}),
    templateHash: metadata.labels?.[templateHashLabel] ?? "",
    image: imageOf(spec),
    kubelet: kubeletOf(spec),
    phase: phaseOf(machine),
    since: metadata.creationTimestamp,
    marked: isOwnHold(pool, metadata.annotations?.[victimAnnotation]),
    held: isOwnHold(pool, metadata.annotations?.[holdAnnotation]),
    expendable: isExpendable(pool, machine),
    ...lacksOf(machine),
  };
}

/** The longest text about a machine (characters). */
const longestText = 300;

/** Returns what a Machine waits for, as far as the Machine itself shows it. */
function lacksOf(machine: Machine): Pick<Member, "lacks"> {
  const { metadata: { annotations, finalizers = [] }, status } = machine;
  const { errorReason, errorMessage } = status ?? {};
  if (errorReason) return { lacks: `${errorReason}: ${errorMessage ?? "no message"}`.slice(0, longestText) };
  const phase = phaseOf(machine);
  if (phase === "Booting") return { lacks: "no node has registered" };
  if (phase !== "Leaving" || annotations?.[holdAnnotation] || finalizers.length === 0) return {};
  return { lacks: `finalizers remain: ${finalizers.join(", ")}`.slice(0, longestText) };
}

/** Returns whether machine-controller has added the finalizer, which it does right before it orders an instance. */
export function hasInstance(machine: Machine): boolean {
  return machine.metadata.finalizers?.includes(instanceFinalizer) ?? false;
}

/**
 * Returns whether the machine has joined and its Node exists. machine-controller sets the Machine's condition Ready
 * once the Node is Ready for the first time, and keeps the condition afterwards.
 */
export function hasJoined(machine: Machine): boolean {
  return machine.status?.nodeRef != null && wasReady(machine);
}

function wasReady({ status }: Machine): boolean {
  return status?.conditions?.some(({ type, status }) => type === "Ready" && status === "True") ?? false;
}

function isExpendable(pool: PoolRef, { metadata, status }: Machine): boolean {
  const mark = metadata.annotations?.[victimAnnotation];
  return (mark !== undefined && !isOwnHold(pool, mark)) || status?.errorReason != null;
}

function phaseOf(machine: Machine): MemberPhase {
  if (machine.metadata.deletionTimestamp) return "Leaving";
  if (hasJoined(machine)) return "Ready";
  // The machine was Ready, but has no Node: machine-controller removes the reference when the Node is deleted.
  if (wasReady(machine)) return "NotReady";
  if (machine.status?.nodeRef) return "Joining";
  if (hasInstance(machine)) return "Booting";
  return machine.metadata.annotations?.[holdAnnotation] ? "Held" : "Provisioning";
}

/** Returns the MachineSet whose template has this `machine-template-hash`; undefined if it was deleted. */
export async function setOfTemplate(
  kube: Kube,
  deployment: MachineDeployment,
  templateHash: string,
): Promise<MachineSet | undefined> {
  const sets = await ownSets(kube, deployment);
  return sets.find(({ metadata }) => metadata.labels?.[templateHashLabel] === templateHash);
}

// The progress of a Machine, as machine-controller reports it.

/** Reads the progress of one Machine; undefined if it was deleted. */
export async function readState(kube: Kube, member: MemberRef): Promise<MachineState | undefined> {
  const found = await readMachine(kube, member);
  return found && stateOf(found);
}

/** Reads whether the Node that a Machine names is certainly the Machine's own; Own for a deleted Machine. */
export async function readNodeStanding(kube: Cluster, member: MemberRef): Promise<NodeStanding> {
  const found = await readMachine(kube, member);
  return found ? await readStanding(kube, found) : { state: "Own" };
}

/** Reads one Machine as the rollout planner sees it; undefined if it was deleted. */
export async function readMember(kube: Kube, member: MemberRef): Promise<Member | undefined> {
  const found = await readMachine(kube, member);
  return found && memberOf(member.pool, found);
}

function readMachine(kube: Kube, { pool, machine }: MemberRef): Promise<Machine | undefined> {
  return attempting(
    `read machine "${machine}"`,
    () => ifFound(readObject(kube, machines, { namespace: pool.namespace, name: machine })),
  );
}

/** Returns the progress of a Machine; pure. */
export function stateOf(machine: Machine): MachineState {
  const { metadata, spec, status } = machine;
  const { namespace, name } = metadata;
  const { errorReason, errorMessage, nodeRef, addresses } = status ?? {};
  return {
    name,
    leaving: metadata.deletionTimestamp !== undefined,
    ordered: hasInstance(machine),
    ...(errorReason ? { trouble: `${errorReason}: ${errorMessage ?? "no message"}` } : {}),
    addresses: (addresses ?? []).map(({ address }) => address),
    ...(nodeRef ? { node: nodeRef.name } : {}),
    joined: hasJoined(machine),
    image: imageOf(spec),
    finalizers: metadata.finalizers ?? [],
    object: { kind: "Machine", namespace, name },
  };
}

// Finds the Machines and MachineSets of a MachineDeployment by the UIDs in their owner references, which
// machine-controller (1.66) writes. Labels only narrow the search, because two MachineDeployments may select by the
// same labels. machine-controller orders no instance for a Machine without an owner; a Machine that it adopts belongs
// to the pool from then on.

/** Machines of one MachineDeployment, and their sets. */
interface Owned {
  machines: Machine[];
  sets: MachineSet[];
}

/** Reads the Machines of a MachineDeployment and its MachineSets; without Machines, no MachineSets are read. */
export async function ownMachines(kube: Kube, deployment: MachineDeployment): Promise<Owned> {
  const { namespace } = deployment.metadata;
  const found = await listObjects(kube, machines, { namespace, labelSelector: labelSelectorOf(deployment) });
  if (found.length === 0) return { machines: [], sets: [] };
  // Sets are read after machines, because a set exists before its machines and until they are deleted.
  const sets = await ownSets(kube, deployment);
  const uids = new Set(sets.map(({ metadata }) => metadata.uid));
  return { machines: found.filter(({ metadata }) => isOwned(metadata, uids)), sets };
}
