/** Checks that a node belongs to the machine that a drain names, as any client of Temporal's namespace can name any node. */
import type { Cluster } from "../cluster.ts";
import type { MemberRef } from "../backends/contract.ts";
import { backendOf } from "../backends/registry.ts";
import { moot, refused } from "../failures.ts";
import { attempting, ifFound } from "../kube/status.ts";
import { isControlPlane } from "../node/node_facts.ts";

/**
 * Throws Moot (MachineGone) for the node of another machine or pool, and Refused (ControlPlaneRefused) for a control plane,
 * unless the pool rolls control planes. An absent node passes, because nothing of it is left to drain.
 */
export function ensureOwnNode(kube: Cluster, { pool, machine, node }: MemberRef & { node: string }): Promise<void> {
  const what = `drain node "${node}"`;
  return attempting(what, async () => {
    const found = await ifFound(kube.core.readNode({ name: node }));
    if (!found) return;
    const owned = await backendOf(kube, pool).owns({ pool, machine, node });
    if (!owned) {
      const state = `it is not the node of machine "${machine}" of "${pool.namespace}/${pool.name}"`;
      throw moot("MachineGone", `Failed to ${what}: ${state}`);
    }
    if (owned.rollsControlPlanes || !isControlPlane(found)) return;
    const state = `it is a control plane, and "${pool.namespace}/${pool.name}" is a pool of workers`;
    throw refused("ControlPlaneRefused", `Failed to ${what}: ${state}`);
  });
}
