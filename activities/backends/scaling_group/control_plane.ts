/** Machines of control planes are members of etcd too: none is taken or ordered before somebody looks after that (K27). */
import { refused } from "../../failures.ts";
import { isControlPlane } from "../../node_version/release.ts";
import type { Asked, CloudSight } from "./sight.ts";

/** Refused for a machine of a control plane; `attempt` completes "Cannot …". A role is written by people: cloud and nodes have a word too. */
export function refuseControlPlane(
  { group }: Pick<Asked, "group">,
  { cloud, instances, nodes }: Pick<CloudSight, "cloud" | "instances" | "nodes">,
  attempt: string,
): void {
  const isNode = instances.some(({ providerId }) => nodes.get(providerId.toLowerCase())?.isControlPlane);
  if (!isControlPlane(group) && cloud.role !== "ControlPlane" && !isNode) return;
  const state = `it is of group "${group.metadata.name}" of control planes, and replacing those is not supported yet`;
  throw refused("ControlPlaneRefused", `Cannot ${attempt}: ${state}`);
}
