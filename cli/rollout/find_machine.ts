/** Finds a machine and its pool by the name of the machine or of its node. */
import { Machine, machineDeployments, machines, machineSets } from "../../activities/kube/resources.ts";
import type { PoolRef } from "../../workflows/contracts/mod.ts";
import { listAll, listReadable, type NamedCluster } from "../connect/cluster.ts";
import { inCluster } from "../connect/cluster_name.ts";
import { Refusal } from "../failure.ts";
import { nearText } from "./near_names.ts";
import { rawObject } from "./pools.ts";

export interface FoundMachine {
  machine: Machine;
  /** Undefined for a machine without a MachineDeployment. */
  pool: PoolRef | undefined;
}

/**
 * Finds a machine by its name in the namespace, else by machine or node name in all readable namespaces; returns
 * undefined if no machine has this name.
 */
export async function findMachine(
  cluster: NamedCluster,
  { name, namespace }: { name: string; namespace: string },
): Promise<FoundMachine | undefined> {
  const { kube } = cluster;
  const here = Machine.safeParse(await rawObject(kube, machines, { namespace, name })).data;
  const machine = here ??
    (await readableMachines(cluster, namespace)).machines.find(({ metadata, status }) =>
      metadata.name === name || status?.nodeRef?.name === name
    );
  return machine && { machine, pool: await poolOf(cluster, machine) };
}

async function readableMachines(
  { kube }: NamedCluster,
  namespace: string,
): Promise<{ machines: Machine[]; isWhole: boolean }> {
  const { items, isWhole } = await listReadable(kube, machines, namespace);
  return { machines: items.flatMap((one) => Machine.safeParse(one).data ?? []), isWhole };
}

/**
 * Returns the refusal for a name that neither a machine nor the node of a machine has, with a remedy and similar names.
 */
export async function noMachine(
  cluster: NamedCluster,
  { name, namespace, remedy }: { name: string; namespace: string; remedy?: string },
): Promise<Refusal> {
  const { machines, isWhole } = await readableMachines(cluster, namespace);
  const names = machines.flatMap(({ metadata, status }) => [
    metadata.name,
    ...(status?.nodeRef ? [status.nodeRef.name] : []),
  ]);
  const where = isWhole ? "" : ` in namespace "${namespace}", and you are not allowed to read other namespaces`;
  return new Refusal(
    `Failed to find machine "${name}": no machine, and no node of a machine, has this name${where}${
      remedy === undefined ? "" : `; ${remedy}`
    }${nearText(name, names)}`,
  );
}

// Follows the owner references of machine-controller: Machine, MachineSet, MachineDeployment.
async function poolOf({ kube, name: cluster = "" }: NamedCluster, { metadata }: Machine): Promise<PoolRef | undefined> {
  const { namespace } = metadata;
  const set = ownerNamed(metadata, "MachineSet");
  if (set === undefined) return undefined;
  const owner = ownerNamed(
    metadataOf(await rawObject(kube, machineSets, { namespace, name: set })),
    "MachineDeployment",
  );
  if (owner !== undefined) return inCluster(cluster, { namespace, name: owner });
  // A MachineSet may be deleted before its machines; its name begins with the name of its MachineDeployment.
  const named = (await listAll(kube, machineDeployments, { namespace })).map((one) => metadataOf(one)?.name ?? "");
  const name = makerByName(set, named);
  return name === undefined ? undefined : inCluster(cluster, { namespace, name });
}

/**
 * Returns the longest of `makers` with which the name `made` begins: "web-blue-x" belongs to "web-blue" if that exists,
 * else to "web". Returns undefined if `made` begins with none of them.
 */
export function makerByName(made: string, makers: readonly string[]): string | undefined {
  const fitting = makers.filter((each) => each !== "" && made.startsWith(`${each}-`));
  return fitting.sort((a, b) => b.length - a.length)[0];
}

interface Owned {
  name?: string | undefined;
  ownerReferences?: { kind: string; name: string }[] | undefined;
}

function metadataOf(object: unknown): Owned | undefined {
  return (object as { metadata?: Owned } | undefined)?.metadata;
}

function ownerNamed(metadata: Owned | undefined, kind: string): string | undefined {
  return metadata?.ownerReferences?.find((owner) => owner.kind === kind)?.name;
}
