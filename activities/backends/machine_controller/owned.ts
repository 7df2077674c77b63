/**
 * Whose sets and machines they are: Machine → MachineSet → MachineDeployment, by UID, as machine-controller (1.66) writes
 * owners when it creates them. Labels only narrow the search, as two MachineDeployments may select by the same ones. A
 * machine without an owner, or of a set without one, is nobody's: machine-controller orders no instance for it, and what
 * it adopts is a member from then on.
 */
import type { Kube } from "../../kube/client.ts";
import {
  listObjects,
  type Machine,
  type MachineDeployment,
  machines,
  type MachineSet,
  machineSets,
  type Metadata,
} from "../../kube/resources.ts";
import { labelSelectorOf } from "../../kube/machine_deployment.ts";

/** Machines of one MachineDeployment, and the sets that they are of. */
export interface Owned {
  machines: Machine[];
  sets: MachineSet[];
}

/** Its machines with their sets; without any machine the sets are not asked for. */
export async function ownMachines(kube: Kube, deployment: MachineDeployment): Promise<Owned> {
  const { namespace } = deployment.metadata;
  const found = await listObjects(kube, machines, { namespace, labelSelector: labelSelectorOf(deployment) });
  if (found.length === 0) return { machines: [], sets: [] };
  // In this order: a set is there before its machines, and stays until they are gone.
  const sets = await ownSets(kube, deployment);
  const uids = new Set(sets.map(({ metadata }) => metadata.uid));
  return { machines: found.filter(({ metadata }) => isOwned(metadata, uids)), sets };
}

/** Its sets, one for each template that machine-controller remembers. */
export async function ownSets(kube: Kube, deployment: MachineDeployment): Promise<MachineSet[]> {
  const { namespace, uid } = deployment.metadata;
  const found = await listObjects(kube, machineSets, { namespace, labelSelector: labelSelectorOf(deployment) });
  return found.filter(({ metadata }) => isOwned(metadata, new Set([uid])));
}

function isOwned({ ownerReferences = [] }: Metadata, uids: Set<string>): boolean {
  return ownerReferences.some(({ uid }) => uids.has(uid));
}
