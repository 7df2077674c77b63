/** Whether a Machine waits for the node of its name, and whose it is. */
import { listThere } from "../../kube/home.ts";
import type { Kube } from "../../kube/client.ts";
import { machines, machineSets, readObject } from "../../kube/resources.ts";
import type { Machine, Metadata } from "../../kube/schemas.ts";
import { attempting, ifFound } from "../../kube/status.ts";
import type { Newcomer } from "../contract.ts";
import { holdAnnotation } from "./annotations.ts";
import { memberOf } from "./member.ts";

/** More than one is too many, and how many more does not matter. */
const limit = 2;

/** Reads the machines of this name afresh, of all namespaces, two at most. Writes nothing. */
export async function readNewcomers(kube: Kube, name: string): Promise<Newcomer[]> {
  return await attempting(`read machine "${name}"`, async () => {
    const answer = await listThere(kube, machines, { fieldSelector: `metadata.name=${name}`, limit });
    const { items = [] } = answer as { items?: unknown[] };
    return await Promise.all(items.map((item) => newcomerOf(kube, machines.schema.parse(item))));
  });
}

async function newcomerOf(kube: Kube, machine: Machine): Promise<Newcomer> {
  const { namespace = "", annotations } = machine.metadata;
  const set = await makerOf(kube, machine.metadata);
  const maker = set?.ownerReferences?.find(({ kind }) => kind === "MachineDeployment");
  const { phase } = memberOf({ namespace, name: maker?.name ?? "" }, machine);
  // Of anybody: as long as it stands, the machine is not to go on.
  const isHeld = Boolean(annotations?.[holdAnnotation]);
  return { phase, isHeld, ...(maker ? { pool: { namespace, name: maker.name }, poolUid: maker.uid } : {}) };
}

/**
 * The MachineSet that made it. Whoever may write Machines alone can name any set as the maker of any name: the UID must be
 * that of the set, and the name one that the set would give.
 */
async function makerOf(kube: Kube, { namespace = "", name, ownerReferences }: Metadata): Promise<Metadata | undefined> {
  const owner = ownerReferences?.find(({ kind }) => kind === "MachineSet");
  if (!owner || !name.startsWith(`${owner.name}-`)) return undefined;
  const set = await ifFound(readObject(kube, machineSets, { namespace, name: owner.name }));
  return set?.metadata.uid === owner.uid ? set?.metadata : undefined;
}
