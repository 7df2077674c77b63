import { pool, poolPath } from "../pool_objects.ts";
import type { Cluster } from "./cluster.ts";

interface Annotated {
  metadata: { name: string; annotations?: Record<string, string>; deletionTimestamp?: string };
}

interface MachineSpec {
  providerSpec?: {
    value?: { cloudProviderSpec?: { virtualMachine?: { template?: { primaryDisk?: { osImage?: string } } } } };
  };
}

interface Machine extends Annotated {
  spec: MachineSpec;
}

interface Node extends Annotated {
  spec?: { unschedulable?: boolean; taints?: { key: string }[] };
}

/**
 * Annotations that a rollout sets on Machines, to hold them back and to choose which one is deleted, and on Nodes, to
 * keep other controllers from evicting pods or deleting the node.
 */
const machineTraces = ["machine-controller.kubermatic.io/initializers", "cluster.k8s.io/delete-machine"];
const nodeTraces = ["kubermatic.io/skip-eviction", "cluster-autoscaler.kubernetes.io/scale-down-disabled"];

/** Path of the pool's machines on the API server. */
export const machinesPath = `/apis/cluster.k8s.io/v1alpha1/namespaces/${pool.namespace}/machines`;

/**
 * Returns one line for each annotation of `machineTraces` and `nodeTraces` that a rollout left, and for each cordoned
 * node.
 */
export async function tracesLeft(cluster: Cluster): Promise<string[]> {
  const [machines, nodes] = await Promise.all([
    cluster.list<Machine>(machinesPath),
    cluster.list<Node>("/api/v1/nodes"),
  ]);
  return [
    ...machines.flatMap((machine) => annotations(machine, machineTraces)),
    ...nodes.flatMap((node) => [...annotations(node, nodeTraces), ...cordons(node)]),
  ];
}

/**
 * Returns one line, sorted, for each machine that the rollout no longer holds: a new machine is admitted, so that it
 * can boot, and a machine that is being deleted is released, so that its deletion can finish. Leaves out held machines,
 * because they wait for the rollout.
 */
export async function stepsBegun(cluster: Cluster): Promise<string[]> {
  const [hold = ""] = machineTraces;
  const machines = await cluster.list<Machine>(machinesPath);
  const free = machines.filter(({ metadata }) => metadata.annotations?.[hold] === undefined);
  return free.map(({ metadata: { name, deletionTimestamp } }) =>
    `${name} is ${deletionTimestamp === undefined ? "admitted" : "released"}`
  ).sort();
}

/**
 * Returns one line for each taint of a node, including the taints that kube-controller-manager adds to nodes that are
 * cordoned or not Ready, and removes later.
 */
export async function taintsLeft(cluster: Cluster): Promise<string[]> {
  const nodes = await cluster.list<Node>("/api/v1/nodes");
  return nodes.flatMap(({ metadata, spec }) =>
    (spec?.taints ?? []).map(({ key }) => `${metadata.name} has taint ${key}`)
  );
}

/** Returns the image of every machine that is not being deleted, by the name of the machine. */
export async function imagesOf(cluster: Cluster): Promise<Map<string, string>> {
  const machines = await cluster.list<Machine>(machinesPath);
  const staying = machines.filter(({ metadata }) => metadata.deletionTimestamp === undefined);
  return new Map(staying.map(({ metadata, spec }) => [metadata.name, imageIn(spec)]));
}

/** Returns the image in the template of the pool. */
export async function desiredImage(cluster: Cluster): Promise<string> {
  const found = await cluster.get<{ spec: { template: { spec: MachineSpec } } }>(poolPath);
  return found === undefined ? "" : imageIn(found.spec.template.spec);
}

function imageIn({ providerSpec }: MachineSpec): string {
  return providerSpec?.value?.cloudProviderSpec?.virtualMachine?.template?.primaryDisk?.osImage ?? "";
}

function annotations({ metadata }: Annotated, keys: string[]): string[] {
  return keys.filter((key) => metadata.annotations?.[key]).map((key) => `${metadata.name} has ${key}`);
}

function cordons({ metadata, spec }: Node): string[] {
  return spec?.unschedulable ? [`${metadata.name} is cordoned`] : [];
}
