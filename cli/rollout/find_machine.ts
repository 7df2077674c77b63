/** Which machine, and of which pool, is meant by the name of a machine or its node. */
import { Machine, machineDeployments, machines, machineSets } from "../../activities/kube/resources.ts";
import type { PoolRef } from "../../workflows/contracts/mod.ts";
import { listAll, listReadable, type NamedCluster } from "../connect/cluster.ts";
import { inCluster } from "../connect/cluster_name.ts";
import { Refusal } from "../failure.ts";
import { nearText } from "./near_names.ts";
import { rawObject } from "./pools.ts";

export interface FoundMachine {
  machine: Machine;
  /** Undefined for a machine that no MachineDeployment made. */
  pool: PoolRef | undefined;
}

/** Finds by machine name in the namespace, else by machine or node name in all that may be read; undefined for one that is not there. */
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

/** Refuses a name that no machine and no node of a machine has, with near ones. */
export async function noMachine(
  cluster: NamedCluster,
  { name, namespace }: { name: string; namespace: string },
): Promise<Refusal> {
  const { machines, isWhole } = await readableMachines(cluster, namespace);
  const names = machines.flatMap(({ metadata, status }) => [
    metadata.name,
    ...(status?.nodeRef ? [status.nodeRef.name] : []),
  ]);
  const where = isWhole ? "" : ` in namespace "${namespace}", and you may not read the others`;
  return new Refusal(
    `Cannot find machine "${name}": no machine or node of one has this name${where}${nearText(name, names)}`,
  );
}

// Machine → MachineSet → MachineDeployment, by owner references as machine-controller writes them.
async function poolOf({ kube, name: cluster = "" }: NamedCluster, { metadata }: Machine): Promise<PoolRef | undefined> {
  const { namespace } = metadata;
  const set = ownerNamed(metadata, "MachineSet");
  if (set === undefined) return undefined;
  const owner = ownerNamed(
    metadataOf(await rawObject(kube, machineSets, { namespace, name: set })),
    "MachineDeployment",
  );
  if (owner !== undefined) return inCluster(cluster, { namespace, name: owner });
  // A set is named after its MachineDeployment; one that is being deleted may be gone before its machines.
  const named = (await listAll(kube, machineDeployments, { namespace })).map((one) => metadataOf(one)?.name ?? "");
  const name = makerByName(set, named);
  return name === undefined ? undefined : inCluster(cluster, { namespace, name });
}

/** Whose name begins the name of what it made; the longest, as "web-blue" is no machine of "web". */
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
