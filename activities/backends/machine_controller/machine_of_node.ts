/**
 * Finds the Machine, MachineSet and MachineDeployment of a node. Users with permission to write Machines could name any
 * owner, so owners are compared by UID.
 */
import type { Cluster } from "../../cluster.ts";
import { type Kube, listThere } from "../../kube/client.ts";
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
import { attempting, ifFound } from "../../kube/status.ts";
import type { MemberRef, Newcomer, Remade } from "../contract.ts";
import { holdAnnotation } from "./annotations.ts";
import { readStanding } from "./node_claims.ts";
import { memberOf } from "./observe_pool.ts";

/**
 * Returns the machine of a node if machine-controller creates another machine after its deletion; undefined if not, or
 * if no machine or several machines name the node. Writes nothing.
 */
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
  // A newer node of this name has another UID; not every version of machine-controller records the UID.
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

/** Lists the machines of all namespaces; none without the CRDs of machine-controller. */
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

/**
 * Returns `{ rollsControlPlanes: false }` if the node certainly belongs to the machine, and the machine to the pool;
 * otherwise undefined. If the machine's MachineSet was deleted before the machine, the name of that MachineSet, which
 * the machine's owner reference still has, must begin with the name of the pool.
 */
export async function readOwnership(
  kube: Cluster,
  { pool: { namespace, name }, machine, node }: MemberRef & { node: string },
): Promise<{ rollsControlPlanes: false } | undefined> {
  const found = await ifFound(readObject(kube, machines, { namespace, name: machine }));
  // Two machines can name one node, which then may belong to the other machine.
  if (found?.status?.nodeRef?.name !== node || (await readStanding(kube, found)).state !== "Own") return undefined;
  const set = await ownerOf<MachineSet>(kube, found.metadata, { kind: "MachineSet", of: machineSets });
  const isOwn = set
    ? set.metadata.ownerReferences?.some((each) => each.kind === "MachineDeployment" && each.name === name)
    : found.metadata.ownerReferences?.some((each) => each.kind === "MachineSet" && each.name.startsWith(`${name}-`));
  return isOwn ? { rollsControlPlanes: false } : undefined;
}

// Finds new machines by the name of a node that requests a certificate: the name of the machine, or an address that its
// cloud gave it.

/** Maximum number of machines to read for one name: two are already ambiguous. */
const limit = 2;
/**
 * Milliseconds for which a list of all machines is reused, because a client with a bootstrap token can request
 * certificates for any number of names.
 */
const freshMs = 3_000;

/**
 * Reads the machines of this name in all namespaces or, if there are none, the machines with this address, such as the
 * private DNS name of an instance of AWS; two at most. Writes nothing.
 */
export async function readNewcomers(kube: Cluster, name: string): Promise<Newcomer[]> {
  return await attempting(`read machine "${name}"`, async () => {
    const answer = await listThere(kube, machines, { fieldSelector: `metadata.name=${name}`, limit });
    const { items = [] } = answer as { items?: unknown[] };
    const named = items.map((item) => machines.schema.parse(item));
    const found = named.length > 0 ? named : await readByAddress(kube, name);
    return await Promise.all(found.map((machine) => newcomerOf(kube, machine)));
  });
}

async function readByAddress(kube: Cluster, name: string): Promise<Machine[]> {
  const all = await kube.cache.read("all machines", () => listMachines(kube), { freshMs });
  return all.filter(({ status }) => status?.addresses?.some(({ address }) => address === name)).slice(0, limit);
}

async function newcomerOf(kube: Kube, machine: Machine): Promise<Newcomer> {
  const { namespace = "", annotations } = machine.metadata;
  const set = await setOf(kube, machine.metadata);
  const owner = set?.ownerReferences?.find(({ kind }) => kind === "MachineDeployment");
  const { phase } = memberOf({ namespace, name: owner?.name ?? "" }, machine);
  // Any value counts, because a hold of another controller keeps the machine from booting too.
  const isHeld = Boolean(annotations?.[holdAnnotation]);
  return { phase, isHeld, ...(owner ? { pool: { namespace, name: owner.name }, poolUid: owner.uid } : {}) };
}

/**
 * Returns the MachineSet of a machine, if it has the UID of the machine's owner reference, and the machine's name
 * begins with the name of the MachineSet; otherwise undefined.
 */
async function setOf(kube: Kube, { namespace = "", name, ownerReferences }: Metadata): Promise<Metadata | undefined> {
  const owner = ownerReferences?.find(({ kind }) => kind === "MachineSet");
  if (!owner || !name.startsWith(`${owner.name}-`)) return undefined;
  const set = await ifFound(readObject(kube, machineSets, { namespace, name: owner.name }));
  return set?.metadata.uid === owner.uid ? set?.metadata : undefined;
}
