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

/** The annotations that pace machine-controller, and those that protect a machine from other controllers. */
const machineTraces = ["machine-controller.kubermatic.io/initializers", "cluster.k8s.io/delete-machine"];
const nodeTraces = ["kubermatic.io/skip-eviction", "cluster-autoscaler.kubernetes.io/scale-down-disabled"];

/** Path of the pool's machines on the API server. */
export const machinesPath = `/apis/cluster.k8s.io/v1alpha1/namespaces/${pool.namespace}/machines`;

/** Returns every hold, mark, cordon and annotation that a rollout left behind, in words. */
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
 * Returns every machine that the rollout has admitted or released, in words and sorted. A held machine is left out,
 * even if machine-controller is already deleting it, because it waits for the rollout.
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
 * Returns every taint, in words; kube-controller-manager adds and removes those of nodes that are cordoned or not
 * Ready.
 */
export async function taintsLeft(cluster: Cluster): Promise<string[]> {
  const nodes = await cluster.list<Node>("/api/v1/nodes");
  return nodes.flatMap(({ metadata, spec }) =>
    (spec?.taints ?? []).map(({ key }) => `${metadata.name} has taint ${key}`)
  );
}

/** Returns the image of every machine that is not being deleted, by name. */
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
