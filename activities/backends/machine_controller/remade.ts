/**
 * Whose deletion brings another: a Machine of a MachineSet of a MachineDeployment, each by its UID, which is not being deleted
 * itself. All others would be gone for good.
 */
import type { Kube } from "../../kube/client.ts";
import {
  listPage,
  type Machine,
  type MachineDeployment,
  machineDeployments,
  machines,
  type MachineSet,
  machineSets,
  type Metadata,
  readObject,
  type Resource,
} from "../../kube/resources.ts";
import { ifFound } from "../../kube/status.ts";
import type { Remade } from "../contract.ts";

/** The machine of a node, if it is one of these; undefined too where two say that they are its machine. Writes nothing. */
export async function findRemade(kube: Kube, node: { name: string; uid: string }): Promise<Remade | undefined> {
  const found = (await listMachines(kube)).filter((machine) => isOf(machine, node));
  const [machine] = found;
  if (!machine || found.length > 1) return undefined;
  const { namespace = "", name, uid, deletionTimestamp } = machine.metadata;
  const set = await ownerOf<MachineSet>(kube, machine.metadata, { kind: "MachineSet", of: machineSets });
  if (!set) return undefined;
  const maker = { kind: "MachineDeployment", of: machineDeployments };
  const deployment = await ownerOf<MachineDeployment>(kube, set.metadata, maker);
  if (!deployment || deployment.metadata.deletionTimestamp) return undefined;
  return {
    pool: { namespace, name: deployment.metadata.name },
    machine: name,
    uid,
    leaving: deletionTimestamp !== undefined,
  };
}

function isOf({ status }: Machine, { name, uid }: { name: string; uid: string }): boolean {
  const ref = status?.nodeRef;
  // A node of that name that came later has another UID; not every version writes it down.
  return ref?.name === name && (ref["uid"] === undefined || ref["uid"] === "" || ref["uid"] === uid);
}

async function ownerOf<T extends { metadata: Metadata }>(
  kube: Kube,
  { namespace = "", ownerReferences = [] }: Metadata,
  { kind, of }: { kind: string; of: Resource<T> },
): Promise<T | undefined> {
  const owner = ownerReferences.find((each) => each.kind === kind);
  const found = owner && await ifFound(readObject(kube, of, { namespace, name: owner.name }));
  return found?.metadata.uid === owner?.uid ? found : undefined;
}

/** Of all namespaces; none where nobody has installed machine-controller. */
async function listMachines(kube: Kube): Promise<Machine[]> {
  const found: Machine[] = [];
  let after: string | undefined;
  do {
    const page = await ifFound(listPage(kube, machines, { limit: 500, after }));
    found.push(...page?.items ?? []);
    after = page?.next;
  } while (after !== undefined);
  return found;
}
