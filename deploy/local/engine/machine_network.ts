import type { DockerApi } from "./docker_api.ts";

/** The bridge network that a run's machines share with this host. */
export interface MachineNetwork {
  readonly name: string;
  /** The subnet in CIDR notation, such as 10.201.1.0/24. */
  readonly subnet: string;
  /** Address of this host in the network, at which machines reach its servers. */
  readonly gateway: string;
}

/** Returns the name of a run's network and bridge, short enough for the name of a network interface. */
export function networkName(runId: string): string {
  return `ostler-${runId}`;
}

interface NetworkFacts {
  readonly IPAM: { readonly Config: readonly { readonly Subnet?: string; readonly Gateway?: string }[] };
}

/** Creates the run's network. */
export async function createMachineNetwork(
  api: DockerApi,
  runId: string,
  labels: Readonly<Record<string, string>>,
): Promise<MachineNetwork> {
  const name = networkName(runId);
  await api.post("/networks/create", {
    Name: name,
    CheckDuplicate: true,
    Driver: "bridge",
    Labels: labels,
    Options: { "com.docker.network.bridge.name": name },
  });
  const { IPAM } = await api.get<NetworkFacts>(`/networks/${name}`);
  const { Subnet: subnet, Gateway: gateway } = IPAM.Config[0] ?? {};
  if (subnet === undefined || gateway === undefined) {
    throw new Error(
      `Failed to create network "${name}": the engine assigned ${JSON.stringify(IPAM)}, without subnet or gateway`,
    );
  }
  return { name, subnet, gateway };
}
