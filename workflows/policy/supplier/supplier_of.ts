/** Finds the supplier of a pool by the pool's kind, so that state names it and stays plain JSON. */
import type { PoolKind } from "../../contracts/mod.ts";
import { machineController } from "./machine_controller.ts";
import { nodePool } from "./node_pool.ts";
import { scalingGroup } from "./scaling_group.ts";
import type { Supplier } from "./supplier.ts";

const suppliers: Record<PoolKind, Supplier> = {
  MachineDeployment: machineController,
  ScalingGroup: scalingGroup,
  NodePool: nodePool,
};

/** Who supplies a pool of that kind; absent is a MachineDeployment. */
export function supplierOf(kind: PoolKind = "MachineDeployment"): Supplier {
  return suppliers[kind];
}
