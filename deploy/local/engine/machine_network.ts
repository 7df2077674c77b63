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
  const order = {
    Name: name,
    CheckDuplicate: true,
    Driver: "bridge",
    Labels: labels,
    Options: { "com.docker.network.bridge.name": name },
  };
  // Only where the subnet was asked for can a machine come back under the address it had; which is free, the engine knows.
  await api.post("/networks/create", order);
  const { subnet: Subnet, gateway: Gateway } = await readNetwork(api, name);
  await api.delete(`/networks/${name}`);
  await api.post("/networks/create", { ...order, IPAM: { Driver: "default", Config: [{ Subnet, Gateway }] } });
  return await readNetwork(api, name);
}

async function readNetwork(api: DockerApi, name: string): Promise<MachineNetwork> {
  const { IPAM } = await api.get<NetworkFacts>(`/networks/${name}`);
  const { Subnet: subnet, Gateway: gateway } = IPAM.Config[0] ?? {};
  if (subnet === undefined || gateway === undefined) {
    throw new Error(
      `Cannot use network "${name}": the engine gave it no subnet and gateway, but ${JSON.stringify(IPAM)}`,
    );
  }
  return { name, subnet, gateway };
}
