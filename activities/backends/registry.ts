/** Which backend makes the machines of which kind of pool; the only place that names one. */
import type { PoolKind, PoolRef } from "../../workflows/contracts/mod.ts";
import { refused } from "../failures.ts";
import type { Cluster } from "../cluster.ts";
import type { Backend, Newcomer, NodeOwners, Remade } from "./contract.ts";
import { findRemade, readNewcomers } from "./machine_controller/machine_of_node.ts";
import { machineController, machineControllerOwners } from "./machine_controller/mod.ts";
import { nodePool } from "./node_pool/mod.ts";
import { scalingGroup } from "./scaling_group/mod.ts";

const backends: Record<PoolKind, (kube: Cluster) => Backend> = {
  MachineDeployment: machineController,
  ScalingGroup: scalingGroup,
  NodePool: nodePool,
};

/** Begins to watch what every change of any pool asks about, so that the first one after a rest costs no more than others. */
export function beginToWatch(kube: Cluster): void {
  for (const backend of Object.values(backends)) backend(kube).beginToWatch();
}

/** Whose nodes are whose, for who watches the nodes of all pools. */
export const nodeOwners: NodeOwners = machineControllerOwners;

/** Reads the machines that a node of this name would be of, whatever made them; two where there are more. */
export function newcomersOf(kube: Cluster, name: string): Promise<Newcomer[]> {
  return readNewcomers(kube, name);
}

/** The machine of a node that somebody makes anew once it is deleted; undefined for none. */
export function remadeOf(kube: Cluster, node: { name: string; uid: string }): Promise<Remade | undefined> {
  return findRemade(kube, node);
}

/** The backend of a pool. Refuses a kind that nobody serves: a newer Ostler may have started the run. */
export function backendOf(kube: Cluster, { kind = "MachineDeployment", namespace, name }: PoolRef): Backend {
  const found = Object.hasOwn(backends, kind) ? backends[kind] : undefined;
  if (found) return found(kube);
  throw refused(
    "ObjectInvalid",
    `Failed to serve pool "${namespace}/${name}": no backend supports kind "${kind}"; upgrade Ostler`,
  );
}
