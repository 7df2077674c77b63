/** The pod network of a node, as an agent of the network would set it up: one range of addresses a node, routed by the host. */
import type { V1Node } from "@kubernetes/client-node";
import type { MachineContainer } from "./machine_container.ts";

const path = "/etc/cni/net.d/10-ostler.conflist";

/** Writes the CNI config once the node has its range; returns whether it did. Until then the node is not Ready. */
export async function connectPods(machine: MachineContainer, node: V1Node): Promise<boolean> {
  const subnet = node.spec?.podCIDR;
  if (!subnet) return false;
  await machine.write(path, JSON.stringify(networkOf(subnet)));
  return true;
}

function networkOf(subnet: string): object {
  const ipam = { type: "host-local", ranges: [[{ subnet }]], routes: [{ dst: "0.0.0.0/0" }] };
  return {
    cniVersion: "1.0.0",
    name: "ostler",
    plugins: [
      { type: "ptp", ipMasq: true, ipam },
      { type: "portmap", capabilities: { portMappings: true } },
    ],
  };
}
