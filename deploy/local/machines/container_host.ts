/** All that machines of the kind `container` need on this host: engine, network, image, metadata service and mirror. */
import { machineImage } from "./machine_image.ts";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { getContainerRuntimeClient } from "testcontainers";
import type { MachineKind } from "../cloud/machine_kind.ts";
import { aimTestcontainers } from "../engine/aim_testcontainers.ts";
import { type Engine, openEngine } from "../engine/engine.ts";
import { debianArchives } from "../mirror/debian_archives.ts";
import type { LayoutImage } from "../mirror/layout_image.ts";
import { type Mirror, startMirror } from "../mirror/mirror.ts";
import type { NodePrograms } from "../tools/node_programs.ts";
import { ContainerMachine, type ContainerMeans } from "./container_machine.ts";
import { labelledName, type MachineContainer } from "./machine_container.ts";
import { type HostFacts, hostFacts } from "./host_facts.ts";
import { MetadataService } from "./metadata_service.ts";
import { osImage } from "./os_image.ts";
import { ostreeImage } from "./ostree/ostree_image.ts";
import { PolicyEnforcer } from "./policies/enforcer.ts";
import { kubeletAnnotationPrefix } from "../../../profiles/kubelet_settings.ts";
import { parameterPrefix } from "../../../profiles/mod.ts";

interface HostOptions {
  /** Keeps what is made once: packages, archives. */
  cacheFolder: string;
  programs: NodePrograms;
  /** May install Debian's Docker engine where none answers. */
  installEngine: boolean;
  /** Images that the mirror has beside those of our own programs. */
  layouts?: readonly LayoutImage[];
  onProgress?: (text: string) => void;
  signal?: AbortSignal;
}

/** A host that machines can be ordered on. */
export interface ContainerHost {
  /** This host's address in the machines' network: where an API server has to listen. */
  readonly address: string;
  /** Range that the nodes' pods get their addresses from. */
  readonly podNetwork: string;
  /** Ostler's settings, as any site with a mirror of its own makes them. */
  readonly settings: Readonly<Record<string, string>>;
  /** What a pool of such machines needs: its kubelets share kernel and disk with this host. */
  readonly poolAnnotations: Readonly<Record<string, string>>;
  readonly mirror: Mirror;
  readonly kind: MachineKind;
  /** Name of the image that machines boot from. */
  readonly image: string;
  readonly engine: Engine;
  /** Machines ordered with this image boot from a build of their own (`systemName`), all others from the same one. */
  addBuild(build: string): Promise<void>;
  /** Machines ordered with this image boot what ostree deploys on them (`ostree/`). */
  addOstree(named: string): Promise<void>;
  /** Names of the machines that the engine has, running or not, in order. */
  machineNames(): Promise<string[]>;
  /** Space for programs on the machines ordered from now on, in bytes; undefined for all that the host has. */
  limitDisk(bytes: number | undefined): void;
  /** Where pods of the machines ordered from now on reach the API server by its Service. */
  serveApi(port: number): void;
  /** NetworkPolicies of the cluster of this kubeconfig (its text) hold on the machines ordered from now on. */
  enforcePolicies(kubeconfig: string): Promise<void>;
  /** A machine that was ordered and switched on; rejects when there is none of that name. */
  machine(name: string): Promise<MachineContainer>;
  /** Removes every machine and network, and puts the host's settings back. */
  stop(): Promise<void>;
}

const podNetwork = "10.244.0.0/16";

/** Opens a host; when a part fails, nothing is left running. */
export async function openContainerHost(options: HostOptions): Promise<ContainerHost> {
  await using parts = new AsyncDisposableStack();
  const { cacheFolder, programs, installEngine, onProgress, signal } = options;
  await mkdir(cacheFolder, { recursive: true });
  const progress = { ...(onProgress ? { onProgress } : {}), ...(signal ? { signal } : {}) };
  const engine = await openEngine({ install: installEngine, directory: join(cacheFolder, "docker"), ...progress });
  parts.defer(() => engine.stop());
  parts.use(aimTestcontainers(engine.socket));
  const archives = await debianArchives();
  const image = await machineImage({ workFolder: cacheFolder, archives, ...progress });
  const { gateway: address, name: network } = engine.network;
  const metadata = await MetadataService.start(address);
  parts.defer(() => metadata.stop());
  onProgress?.("Preparing the mirror that machines download from");
  const directory = join(cacheFolder, "mirror");
  const { layouts = [] } = options;
  const mirror = await startMirror({ address, directory, programs, archives, layouts });
  parts.defer(() => mirror.stop());
  signal?.throwIfAborted();
  const facts = await hostFacts();
  const labels = engine.runLabels();
  const builds = new Map<string, string>();
  const fleet = new Fleet({ image, builds, network, labels, metadata });
  const kept = parts.move();
  return {
    ...{ address, podNetwork, mirror, image, engine },
    settings: siteSettings(mirror, facts),
    poolAnnotations: poolAnnotations(facts),
    kind: (context, order) => fleet.add(new ContainerMachine(context, order, fleet.means)),
    serveApi: (port) => void (fleet.means.apiServer = { host: address, port }),
    enforcePolicies: async (kubeconfig) => {
      const policies = await PolicyEnforcer.open(kubeconfig, podNetwork);
      kept.defer(() => policies.close());
      fleet.means.policies = policies;
    },
    addBuild: async (build) => void builds.set(build, await osImage(image, build)),
    addOstree: async (named) => void builds.set(named, await ostreeImage(image, archives)),
    machineNames: () => namesAt(labels),
    limitDisk: (bytes) => void (fleet.means.diskBytes = bytes),
    machine: (name) => fleet.container(name),
    stop: () => kept.disposeAsync(),
  };
}

async function namesAt(labels: Record<string, string>): Promise<string[]> {
  const { container: { dockerode } } = await getContainerRuntimeClient();
  const label = Object.entries(labels).map(([key, value]) => `${key}=${value}`);
  const containers = await dockerode.listContainers({ all: true, filters: { label } });
  const prefix = `/${labelledName(labels, "")}`;
  return containers.map(({ Names: [name = ""] }) => name.replace(prefix, "")).sort();
}

class Fleet {
  readonly means: ContainerMeans;
  readonly #machines = new Map<string, ContainerMachine>();

  constructor(means: ContainerMeans) {
    this.means = means;
  }

  add(machine: ContainerMachine): ContainerMachine {
    this.#machines.set(machine.order.name, machine);
    return machine;
  }

  async container(name: string): Promise<MachineContainer> {
    const machine = this.#machines.get(name);
    if (machine === undefined) throw new Error(`Cannot reach machine "${name}": it was not ordered here`);
    return await machine.container();
  }
}

// What a site whose machines are containers sets: nothing that another site with a mirror of its own could not.

/** Settings of Ostler's processes, by environment variable. */
export function siteSettings({ url, registryMirror, images }: Mirror, host: HostFacts): Record<string, string> {
  return {
    ...(host.lacksSysResource ? { OSTLER_RESTRICT_OOM_SCORE_ADJ: "true" } : {}),
    OSTLER_BINARIES_URL: url,
    OSTLER_PAUSE_IMAGE: images.pause,
    OSTLER_NODE_CONTAINERD_REGISTRY_MIRRORS: registryMirror,
  };
}

/** Annotations of each MachineDeployment. */
export function poolAnnotations(host: HostFacts): Record<string, string> {
  return {
    [`${parameterPrefix}failCgroupV1`]: String(host.hasCgroupV2),
    // How full the host's disk is says nothing about the machine.
    [`${kubeletAnnotationPrefix}EvictionHard`]: "memory.available<100Mi,nodefs.available<1%,imagefs.available<1%",
  };
}
