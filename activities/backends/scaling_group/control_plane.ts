/** Machines of control planes are members of etcd too: none is taken or ordered before somebody looks after that (K27). */
import { refused } from "../../failures.ts";
import type { ScalingGroup } from "../../kube/update_kinds.ts";
import { isControlPlane } from "../../node_version/release.ts";

/** Refused for a machine of a control plane; `attempt` completes "Cannot …". */
export function refuseControlPlane(group: Pick<ScalingGroup, "metadata" | "spec">, attempt: string): void {
  if (!isControlPlane(group)) return;
  const state = `it is of group "${group.metadata.name}" of control planes, and replacing those is not supported yet`;
  throw refused("ControlPlaneRefused", `Cannot ${attempt}: ${state}`);
}
