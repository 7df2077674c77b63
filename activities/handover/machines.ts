/** Finds machines and nodes with annotations of Ostler, and removes these annotations. */
import type { Cluster } from "../cluster.ts";
import type { PoolRef } from "../../workflows/contracts/mod.ts";
import { backendOf } from "../backends/registry.ts";
import { asMergePatch } from "../kube/client.ts";
import { allPages, machines, machineSets, patchObject } from "../kube/resources.ts";
import { attempting, ifFound } from "../kube/status.ts";
import { ensureNodeUncordoned } from "../node/cordon.ts";
import { holderIn } from "../node/holder.ts";
import { type Head, headOf, listEach } from "./listing.ts";
import { nodeFacts, ourPrefix, templateAnnotation } from "./names.ts";

/** A machine and its pool: Machine → MachineSet → MachineDeployment, by UID. */
export interface MachineOfPool {
  /** The MachineDeployment, as "namespace/name". */
  pool: string;
  name: string;
  hasNode: boolean;
  isLeaving: boolean;
  /** Whether any controller holds the machine, by an annotation that makes machine-controller ignore it. */
  isHeld: boolean;
  isHeldByUs: boolean;
}

interface Owned {
  metadata: {
    uid?: string;
    deletionTimestamp?: unknown;
    ownerReferences?: { kind: string; name: string; uid: string }[];
  };
}

interface RawMachine extends Owned {
  status?: { nodeRef?: { name?: string } | null };
}

/** Suffix of annotations that hold a machine: machine-controller creates no instance while one of them has a value. */
const initializers = /\/initializers$/;

/** Reads all machines that belong to a MachineDeployment. */
export async function readMachines(kube: Cluster): Promise<MachineOfPool[]> {
  const found = await listEach(kube, machines, (object) => ({ set: ownerOf("MachineSet", object), ...seenOf(object) }));
  // Lists MachineSets after machines: a MachineSet exists before its machines and until their deletion, so none is
  // missed.
  const sets = await listEach(kube, machineSets, (object) => {
    const owner = ownerOf("MachineDeployment", object);
    const { namespace } = headOf(object as never);
    return [(object as Owned).metadata.uid, owner && `${namespace}/${owner.name}`] as const;
  });
  const poolOf = new Map(sets);
  return found.flatMap(({ set, ...machine }) => {
    const pool = poolOf.get(set?.uid);
    return pool === undefined ? [] : [{ pool, ...machine }];
  });
}

function ownerOf(kind: string, object: unknown): { name: string; uid: string } | undefined {
  return (object as Owned).metadata.ownerReferences?.find((owner) => owner.kind === kind);
}

function seenOf(object: unknown): Omit<MachineOfPool, "pool"> {
  const { metadata, status } = object as RawMachine;
  const { name, annotations } = headOf(object as never);
  const holds = Object.entries(annotations).filter(([key, value]) => initializers.test(key) && value !== "");
  return {
    ...{ name, hasNode: Boolean(status?.nodeRef?.name), isLeaving: metadata.deletionTimestamp !== undefined },
    ...{ isHeld: holds.length > 0, isHeldByUs: holds.some(([, value]) => namesMachineDeployment(value)) },
  };
}

/** A machine or a node with annotations of Ostler. */
interface Marked {
  kind: "Machine" | "Node";
  namespace: string;
  name: string;
  /** The pools named in the annotations. */
  pools: PoolRef[];
  /** Annotations to remove that name no MachineDeployment. */
  others: string[];
}

/** Reads all machines and nodes with annotations of Ostler. */
export async function readMarked(kube: Cluster): Promise<Marked[]> {
  const [onMachines, onNodes] = await Promise.all([
    listEach(kube, machines, (object) => markedOf("Machine", headOf(object as never))),
    listNodes(kube),
  ]);
  return [...onMachines, ...onNodes].flat();
}

/**
 * Ends Ostler's hold and cordon, and removes Ostler's annotations, except the one that a machine has from its template,
 * and facts about nodes of kept pools; annotations of other owners are unchanged.
 */
export function takeMarks(kube: Cluster, { kind, namespace, name, pools, others }: Marked): Promise<void> {
  return attempting(`remove the marks of Ostler from ${kind.toLowerCase()} "${name}"`, async () => {
    for (const pool of pools) {
      if (kind === "Node") await ensureNodeUncordoned(kube, { pool, node: name });
      else await backendOf(kube, pool).spare({ pool, machine: name, release: true });
    }
    if (others.length === 0) return;
    const body = { metadata: { annotations: Object.fromEntries(others.map((key) => [key, null])) } };
    if (kind === "Node") await ifFound(kube.core.patchNode({ name, body }, asMergePatch));
    else await ifFound(patchObject(kube, machines, { namespace, name, body }));
  });
}

async function listNodes(kube: Cluster): Promise<Marked[][]> {
  return await allPages(async (page) => {
    const { items, metadata = {} } = await kube.core.listNode({ ...page });
    return { metadata, items: items.map((node) => markedOf("Node", headOf(node as never))) };
  });
}

function markedOf(kind: Marked["kind"], { namespace, name, annotations }: Head): Marked[] {
  const entries = Object.entries(annotations);
  // A Node may be marked for a pool of any kind, but a Machine only for a MachineDeployment.
  const all = entries.flatMap(([, value]) => holderIn(value) ?? []);
  const pools = kind === "Node" ? all : all.filter((pool) => pool.kind === undefined);
  const others = entries.filter(([key, value]) => isNote(key) && !namesMachineDeployment(value)).map(([key]) => key);
  if (pools.length + others.length === 0) return [];
  const named = new Map(pools.map((pool) => [JSON.stringify(pool), pool]));
  return [{ kind, namespace, name, pools: [...named.values()], others }];
}

function namesMachineDeployment(value: string): boolean {
  const pool = holderIn(value);
  return pool !== undefined && pool.kind === undefined;
}

// Returns whether a handover removes an annotation: any of Ostler's, except `nodeFacts` and the one that machines have
// from their template. Every change of a template replaces machines, so template and machines keep that annotation.
function isNote(key: string): boolean {
  return key.startsWith(ourPrefix) && key !== templateAnnotation && !nodeFacts.includes(key);
}
