/**
 * Machines whose user-data Ignition reads: containers as in the other tests, from an image that starts as Flatcar does.
 */
import { fileURLToPath } from "node:url";
import { GenericContainer } from "testcontainers";
import type { ContainerHost } from "../../../deploy/local/machines/container_host.ts";
import { ContainerMachine } from "../../../deploy/local/machines/container_machine.ts";
import { MachineContainer } from "../../../deploy/local/machines/machine_container.ts";
import { MetadataService } from "../../../deploy/local/machines/metadata_service.ts";
import type { MachineGround } from "../../../deploy/local/site/site.ts";

/** The means of a host to boot machines with Ignition. */
export interface IgnitionGround extends MachineGround {
  /** Returns a machine of a site on this ground; rejects when the machine is not switched on. */
  machine(name: string): Promise<MachineContainer>;
  /** Switches on a machine that belongs to no site; the machine is removed with the host. */
  boot(name: string, userData: string): Promise<MachineContainer>;
  stop(): Promise<void>;
}

const recipe = fileURLToPath(new URL("./image/", import.meta.url));

/** Prepares a host for machines with Ignition; the host's own image is unchanged. */
export async function openIgnitionGround(host: ContainerHost): Promise<IgnitionGround> {
  const image = await ignitionImage(host.image);
  const metadata = await MetadataService.start(host.address);
  const means = { image, network: host.engine.network.name, labels: host.engine.runLabels(), metadata };
  const machines = new Map<string, ContainerMachine>();
  return {
    ...{ address: host.address, podNetwork: host.podNetwork, settings: host.settings },
    kind: (context, order) => {
      const machine = new ContainerMachine(context, order, means);
      machines.set(order.name, machine);
      return machine;
    },
    machine: (name) => machines.get(name)?.container() ?? Promise.reject(new Error(`No machine "${name}" was ordered`)),
    boot: async (name, userData) => {
      const { promise: address, resolve } = Promise.withResolvers<string>();
      const offer = { instanceId: name, hostname: name, userData, address, onFetched: () => {} };
      const machine = await MachineContainer.start({ ...means, name, bootArguments: [metadata.offer(name, offer)] });
      resolve(machine.address);
      return machine;
    },
    stop: () => metadata.stop(),
  };
}

async function ignitionImage(base: string): Promise<string> {
  const name = base.replace(":", "-ignition:");
  await GenericContainer.fromDockerfile(recipe).withBuildArgs({ BASE: base }).build(name, { deleteOnExit: false });
  return name;
}
