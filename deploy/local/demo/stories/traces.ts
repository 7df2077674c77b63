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

/** Everything by which a rollout paces machine-controller, and keeps others off a machine (design.md, section 3). */
const machineTraces = ["machine-controller.kubermatic.io/initializers", "cluster.k8s.io/delete-machine"];
const nodeTraces = ["kubermatic.io/skip-eviction", "cluster-autoscaler.kubernetes.io/scale-down-disabled"];

/** Path of the pool's machines on the API server. */
export const machinesPath = `/apis/cluster.k8s.io/v1alpha1/namespaces/${pool.namespace}/machines`;

/** Every hold, mark, cordon and annotation that a rollout left behind, in words. */
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
 * Every machine that is let go and every one that is given up, in words and in order: what a rollout has begun. One that
 * its maker takes meanwhile, as it was told to before, waits for the rollout as long as it is held.
 */
export async function stepsBegun(cluster: Cluster): Promise<string[]> {
  const [hold = ""] = machineTraces;
  const machines = await cluster.list<Machine>(machinesPath);
  const free = machines.filter(({ metadata }) => metadata.annotations?.[hold] === undefined);
  return free.map(({ metadata: { name, deletionTimestamp } }) =>
    `${name} is ${deletionTimestamp === undefined ? "let go" : "given up"}`
  ).sort();
}

/** Every taint, in words: kube-controller-manager gives them to nodes that are cordoned or not Ready, and takes them back. */
export async function taintsLeft(cluster: Cluster): Promise<string[]> {
  const nodes = await cluster.list<Node>("/api/v1/nodes");
  return nodes.flatMap(({ metadata, spec }) =>
    (spec?.taints ?? []).map(({ key }) => `${metadata.name} is tainted ${key}`)
  );
}

/** The image of every machine that is there to stay, by name. */
export async function imagesOf(cluster: Cluster): Promise<Map<string, string>> {
  const machines = await cluster.list<Machine>(machinesPath);
  const staying = machines.filter(({ metadata }) => metadata.deletionTimestamp === undefined);
  return new Map(staying.map(({ metadata, spec }) => [metadata.name, imageIn(spec)]));
}

/** The image that the pool's template asks for now. */
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
