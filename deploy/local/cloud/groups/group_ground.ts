/** Scaling groups of the simulated cloud, whose machines join a cluster. */
import { readFile } from "node:fs/promises";
import type { ApiObjects } from "../../stack/api_objects.ts";
import { type ApiOptions, type Call, GroupApi } from "./group_api.ts";
import { GroupCloud, type GroupSpec } from "./group_cloud.ts";
import type { FleetWorld, GroupFleet } from "./group_fleet.ts";
import { GroupMachines, type GroupMachinesOptions, type MachineIlls } from "./group_machines.ts";

const apiVersion = "update.edgeless.systems/v1alpha1";
export const kinds = `/apis/${apiVersion}`;

/** Administrator access to a cluster; the kubeconfig may be missing only if no machine connects to an API server. */
export type Administrator = Pick<ApiObjects, "list" | "create" | "patch"> & { readonly kubeconfig?: string };

/**
 * Image and components of a NodeVersion, and the Kubernetes version of these components (`usualKubernetes` by default).
 */
export interface Version {
  image: string;
  components: string;
  kubernetes?: string;
}

const usual: GroupMachinesOptions["seconds"] = { boot: 1, ready: 0.5, gone: 1 };

const usualKubernetes = "v1.36.1";

export const first: Version = { image: "image-1", components: "components-1" };

/**
 * The cloud with its API and its machines. The API runs from the creation of this object; the machines run only after
 * `begin` or `settle`, which need a cluster.
 */
export class GroupGround implements AsyncDisposable {
  readonly cloud: GroupCloud;
  readonly api: GroupApi;
  /** A second API of `cloud`, for an observer: it injects no faults, and shows new instances without delay. */
  readonly shown: GroupApi;
  /** Log lines of the machines. */
  readonly lines: string[] = [];
  readonly #labels: Record<string, string>;
  readonly #open: (world: FleetWorld) => Promise<GroupFleet>;
  #machines: GroupFleet | undefined;
  #version: Version = first;
  #isSettled = false;

  constructor(
    { isDead, isUnready, isSilent, labels = {}, fleet, seconds = usual, ...options }: ApiOptions & MachineIlls & {
      /** Labels of each ScalingGroup, by which policies select it. */
      labels?: Record<string, string>;
      capacity?: number;
      /** Durations of the steps of simulated machines. */
      seconds?: GroupMachinesOptions["seconds"];
      /** Creates the machines; by default simulated ones, which are the only kind with faults. */
      fleet?: (world: FleetWorld) => Promise<GroupFleet>;
    } = {},
  ) {
    const ills: MachineIlls = {
      ...(isDead ? { isDead } : {}),
      ...(isUnready ? { isUnready } : {}),
      ...(isSilent ? { isSilent } : {}),
    };
    this.#open = fleet ?? ((world) => Promise.resolve(simulated(world, { seconds, ills })));
    this.#labels = labels;
    const { capacity } = options;
    this.cloud = new GroupCloud({
      ...(capacity === undefined ? {} : { capacity }),
      onInstance: (instance, change) => this.#machines?.changed(instance, change),
    });
    // Requests for the list of groups fail until `settle` ends; otherwise Ostler's discovery could create a
    // ScalingGroup before `settle` does.
    const isEarly = ({ path }: Call): boolean => path === "/groups" && !this.#isSettled;
    this.api = new GroupApi(this.cloud, {
      ...options,
      fault: (call) => isEarly(call) ? "Throttled" : options.fault?.(call),
    });
    this.shown = new GroupApi(this.cloud);
  }

  /** Environment variables that make Ostler's worker use this cloud. */
  get settings(): Record<string, string> {
    return { OSTLER_CLOUD: "simulated", OSTLER_CLOUD_PLACE: this.api.url };
  }

  /**
   * Creates a group whose first machines form the cluster; `settle`, called later, creates the ScalingGroup of the
   * group.
   */
  async begin(kubeconfig: string, group: GroupSpec): Promise<void> {
    await this.#begin(kubeconfig);
    this.cloud.create(group);
  }

  /** Creates the NodeVersion and these groups, whose machines run that version. */
  async settle(admin: Administrator, groups: readonly GroupSpec[], version: Version = first): Promise<void> {
    this.#version = version;
    await this.#begin(admin.kubeconfig);
    const spec = { image: version.image, imageVersion: "v1", kubernetesComponentsReference: version.components };
    await admin.create(`${kinds}/nodeversions`, {
      ...{ apiVersion, kind: "NodeVersion", metadata: { name: "constellation-version" } },
      spec: { ...spec, kubernetesClusterVersion: version.kubernetes ?? usualKubernetes },
    });
    for (const group of groups) await this.create(admin, group);
    this.#isSettled = true;
  }

  /** Creates the ScalingGroup of a group, and the group itself unless the cloud has it. */
  async create(admin: Administrator, group: GroupSpec): Promise<void> {
    if (!this.cloud.group(group.id)) this.cloud.create(group);
    const spec = { nodeImage: "constellation-version", groupId: group.id, autoscalerGroupName: group.autoscalerName };
    await admin.create(`${kinds}/scalinggroups`, {
      ...{
        apiVersion,
        kind: "ScalingGroup",
        metadata: { name: group.name, labels: { pool: group.name, ...this.#labels } },
      },
      spec: { ...spec, nodeGroupName: group.name, autoscaling: false, min: 1, max: 10, role: group.role },
    });
  }

  async #begin(kubeconfig: string | undefined): Promise<void> {
    this.#machines ??= await this.#open({
      kubeconfig: kubeconfig === undefined ? "" : await readFile(kubeconfig, "utf8"),
      cloud: this.cloud,
      components: () => Promise.resolve(this.#version.components),
      log: (line) => void this.lines.push(line),
    });
  }

  /** Changes image, components or Kubernetes version of the NodeVersion, in one write. */
  async ask(admin: Administrator, version: Version): Promise<void> {
    this.#version = version;
    const spec = {
      image: version.image,
      kubernetesComponentsReference: version.components,
      imageVersion: version.image,
      kubernetesClusterVersion: version.kubernetes ?? usualKubernetes,
    };
    await admin.patch(`${kinds}/nodeversions/constellation-version`, { spec });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#machines?.[Symbol.asyncDispose]();
    await this.api[Symbol.asyncDispose]();
    await this.shown[Symbol.asyncDispose]();
  }
}

function simulated(world: FleetWorld, how: Pick<GroupMachinesOptions, "seconds" | "ills">): GroupFleet {
  return new GroupMachines({
    ...{ ...world, ...how },
    script: { podStartSeconds: 0.2, maxPodGraceSeconds: 1 },
    kubelet: "v1.36.1",
  });
}
