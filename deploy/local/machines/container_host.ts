/**
 * Provides what machines of kind `container` need on this host: engine, network, image, metadata service and mirror.
 */
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
  /** Folder that keeps packages and archives between runs. */
  cacheFolder: string;
  programs: NodePrograms;
  /** Whether Debian's Docker engine may be installed if no engine is found. */
  installEngine: boolean;
  /** Additional images of the mirror, besides those of the project's own programs. */
  layouts?: readonly LayoutImage[];
  onProgress?: (text: string) => void;
  signal?: AbortSignal;
}

/** A host on which machines can be created. */
export interface ContainerHost {
  /** Address of this host in the machines' network, on which an API server must listen. */
  readonly address: string;
  /** Address range of pods. */
  readonly podNetwork: string;
  /**
   * Settings of Ostler by environment variable; any cluster whose machines download from a mirror needs such settings.
   */
  readonly settings: Readonly<Record<string, string>>;
  /** Annotations for a pool of these machines, whose kubelets share kernel and disk with this host. */
  readonly poolAnnotations: Readonly<Record<string, string>>;
  readonly mirror: Mirror;
  readonly kind: MachineKind;
  /** Name of the image from which machines boot. */
  readonly image: string;
  readonly engine: Engine;
  /**
   * Builds a variant of the machine image that reports `systemName(build)` as its OS. Machines whose VirtualMachine or
   * instance names `build` as image then boot this variant.
   */
  addBuild(build: string): Promise<void>;
  /**
   * Builds the ostree image (`ostree/`). Machines whose VirtualMachine or instance names `named` as image then boot its
   * ostree deployment.
   */
  addOstree(named: string): Promise<void>;
  /** Returns the names of all machines of this run in the engine, running or not, sorted. */
  machineNames(): Promise<string[]>;
  /** Limits the disk space under /opt, where new machines install programs, in bytes; undefined for no limit. */
  limitDisk(bytes: number | undefined): void;
  /**
   * Sets the port of the API server on this host, so that pods on new machines reach it through Service `kubernetes`.
   */
  serveApi(port: number): void;
  /** Enforces the NetworkPolicies of a cluster, given by the text of a kubeconfig, on new machines. */
  enforcePolicies(kubeconfig: string): Promise<void>;
  /** Returns the container of a machine; rejects if no machine has this name, or if the machine is not started yet. */
  machine(name: string): Promise<MachineContainer>;
  /** Removes all machines and networks of this run; restores the settings of the host if no other run needs them. */
  stop(): Promise<void>;
}

const podNetwork = "10.244.0.0/16";

/** Opens a host; rejects without leaving anything running if a part fails. */
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
  onProgress?.("Preparing the mirror from which machines download");
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
    if (machine === undefined) throw new Error(`Failed to find machine "${name}": it was not created on this host`);
    return await machine.container();
  }
}

// The settings of `siteSettings` are not specific to container machines: a cluster whose machines download from a
// mirror of its own could set the same settings.

/** Returns the settings of Ostler's processes, by environment variable. */
export function siteSettings(
  { url, digests, registryMirror, images }: Mirror,
  host: HostFacts,
): Record<string, string> {
  return {
    ...(host.lacksSysResource ? { OSTLER_RESTRICT_OOM_SCORE_ADJ: "true" } : {}),
    OSTLER_BINARIES_URL: url,
    OSTLER_BINARIES_DIGESTS: digests,
    OSTLER_PAUSE_IMAGE: images.pause,
    OSTLER_NODE_CONTAINERD_REGISTRY_MIRRORS: registryMirror,
  };
}

/** Returns the annotations of each MachineDeployment. */
export function poolAnnotations(host: HostFacts): Record<string, string> {
  return {
    [`${parameterPrefix}failCgroupV1`]: String(host.hasCgroupV2),
    // The limits are low, because the free space on the host's disk does not indicate the machine's health.
    [`${kubeletAnnotationPrefix}EvictionHard`]: "memory.available<100Mi,nodefs.available<1%,imagefs.available<1%",
  };
}
