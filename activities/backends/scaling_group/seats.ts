/** Finds the machines of control planes by the names of their nodes. */
import type { Cluster } from "../../cluster.ts";
import { listClusterObjects } from "../../kube/resources.ts";
import { scalingGroups } from "../../kube/update_kinds.ts";
import { nodesByInstance } from "../../node_version/group_nodes.ts";
import { isControlPlane } from "../../node_version/version_release.ts";
import { memberIdOf } from "./member.ts";
import { readInstances } from "./sight.ts";

/** The name of a ScalingGroup, and the ID of one of its machines. */
export interface Seat {
  group: string;
  machine: string;
}

/** Returns the machines of the groups of control planes of a NodeVersion, by the names of their nodes. */
export async function readSeats(kube: Cluster, { version }: { version: string }): Promise<Map<string, Seat>> {
  const all = await listClusterObjects(kube, scalingGroups);
  const groups = all.filter((group) => group.spec.nodeImage === version && isControlPlane(group));
  const seats = new Map<string, Seat>();
  if (groups.length === 0) return seats;
  const driver = await kube.cloud.driver();
  // A node that shares its provider ID with another is left out, because it is unclear to which of them the machine
  // belongs.
  const { nodes } = await nodesByInstance(kube);
  for (const { metadata, spec } of groups) {
    for (const instance of await readInstances(kube, driver, spec.groupId)) {
      const node = nodes.get(instance.providerId.toLowerCase());
      if (node) seats.set(node.name, { group: metadata.name, machine: memberIdOf(instance) });
    }
  }
  return seats;
}
