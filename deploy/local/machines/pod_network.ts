/** The pod network of a node, as its agents would set it up: one range of addresses a node, routed by the host, and the API. */
import type { V1Node } from "@kubernetes/client-node";
import type { MachineContainer } from "./machine_container.ts";
import type { PolicyEnforcer } from "./policies/enforcer.ts";

const path = "/etc/cni/net.d/10-ostler.conflist";

/** The address that every cluster with this range of Services gives to the one of its API server. */
const apiService = { host: "10.96.0.1", port: 443 };

/** Where a server listens. */
export interface Endpoint {
  host: string;
  port: number;
}

/** What pods of a machine have beside addresses. */
export interface PodServices {
  /** Reached by them as the Service `kubernetes`; by none unless told. */
  apiServer?: Endpoint;
  /** What makes NetworkPolicies hold; unless told nothing does. */
  policies?: PolicyEnforcer;
}

/** Writes the CNI config once the node has its range; returns whether it did. Until then the node is not Ready. */
export async function connectPods(machine: MachineContainer, node: V1Node, services: PodServices): Promise<boolean> {
  const subnet = node.spec?.podCIDR;
  if (!subnet) return false;
  const { apiServer, policies } = services;
  await policies?.attach(machine, subnet);
  if (apiServer !== undefined) await serveApi(machine, apiServer);
  await machine.write(path, JSON.stringify(networkOf(subnet)));
  return true;
}

/** Of all Services this is the only one that pods reach here: as kube-proxy does it, by a rule for what they send. */
async function serveApi(machine: MachineContainer, { host, port }: Endpoint): Promise<void> {
  const rule = ["-d", apiService.host, "-p", "tcp", "--dport", `${apiService.port}`, "-j", "DNAT"];
  const command = ["iptables", "-w", "-t", "nat", "-A", "PREROUTING", ...rule, "--to-destination", `${host}:${port}`];
  const { exitCode, stderr } = await machine.run(command);
  if (exitCode !== 0) throw new Error(`Cannot serve the API to pods at "${apiService.host}": ${stderr.trim()}`);
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
