import type { DockerApi } from "./docker_api.ts";

/** The bridge network that a run's machines share with this host. */
export interface MachineNetwork {
  readonly name: string;
  /** For example 10.201.1.0/24. */
  readonly subnet: string;
  /** This host's address in it: what machines reach a server of ours under. */
  readonly gateway: string;
}

/** The name of a run's network and of its bridge, as long as a link's name may be. */
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
      `Cannot use network "${name}": the engine gave it no subnet and gateway, but ${JSON.stringify(IPAM)}`,
    );
  }
  return { name, subnet, gateway };
}
