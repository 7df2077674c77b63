/** Whose nodes are whose, as machine-controller's objects tell it; no more of them is kept. */
import type { Resource } from "../../kube/resources.ts";
import { machines, machineSets } from "../../kube/resources.ts";
import { Machine, MachineSet } from "../../kube/schemas.ts";
import type { JoinedMachine, NodeOwners, OwnedSet } from "../contract.ts";
import { hasJoined } from "./member.ts";

const joinedMachines: Resource<JoinedMachine> = { ...machines, schema: Machine.transform(joinedMachine) };
const ownedSets: Resource<OwnedSet> = { ...machineSets, schema: MachineSet.transform(ownedSet) };

export const machineControllerOwners: NodeOwners = { machines: joinedMachines, sets: ownedSets };

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
