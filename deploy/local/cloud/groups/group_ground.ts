/** Scaling groups of the simulated cloud beside a cluster, whose machines join it. */
import { readFile } from "node:fs/promises";
import { type ApiOptions, type Call, GroupApi } from "./group_api.ts";
import { GroupCloud, type GroupSpec } from "./group_cloud.ts";
import type { FleetWorld, GroupFleet } from "./group_fleet.ts";
import { GroupMachines, type GroupMachinesOptions, type MachineIlls } from "./group_machines.ts";

const apiVersion = "update.edgeless.systems/v1alpha1";
export const kinds = `/apis/${apiVersion}`;

/** What is asked of a cluster, as its administrator. */
export interface Administrator {
  /** Path of the file; only machines that join in memory need none. */
  kubeconfig?: string;
  list<T>(path: string): Promise<T[]>;
  create(path: string, body: object): Promise<void>;
  patch(path: string, body: object): Promise<void>;
}

/** Image and components of a NodeVersion. */
export interface Version {
  image: string;
  components: string;
}

const usual: GroupMachinesOptions["seconds"] = { boot: 1, ready: 0.5, gone: 1 };

export const first: Version = { image: "image-1", components: "components-1" };

/** The cloud; its API begins before the processes that are told of it, and its machines when there is a cluster. */
export class GroupGround implements AsyncDisposable {
  readonly cloud: GroupCloud;
  readonly api: GroupApi;
  /** What its machines said. */
  readonly lines: string[] = [];
  readonly #labels: Record<string, string>;
  readonly #open: (world: FleetWorld) => Promise<GroupFleet>;
  #machines: GroupFleet | undefined;
  #version: Version = first;
  #isSettled = false;

  constructor(
    { isDead, isUnready, isSilent, labels = {}, fleet, seconds = usual, ...options }: ApiOptions & MachineIlls & {
      /** Of each ScalingGroup, for policies. */
      labels?: Record<string, string>;
      capacity?: number;
      /** What steps of simulated machines take. */
      seconds?: GroupMachinesOptions["seconds"];
      /** Opens what its machines are; simulated ones unless told, which alone have ills. */
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
    // Else discovery could make an object for a group a moment before its own is made.
    const isEarly = ({ path }: Call): boolean => path === "/groups" && !this.#isSettled;
    this.api = new GroupApi(this.cloud, {
      ...options,
      fault: (call) => isEarly(call) ? "Throttled" : options.fault?.(call),
    });
  }

  /** Settings of a worker. */
  get settings(): Record<string, string> {
    return { OSTLER_CLOUD: "simulated", OSTLER_CLOUD_PLACE: this.api.url };
  }

  /** Makes a group whose first machines are the cluster itself; `settle` gives it its object. */
  async begin(kubeconfig: string, group: GroupSpec): Promise<void> {
    await this.#begin(kubeconfig);
    this.cloud.create(group);
  }

  /** The world has a NodeVersion and its groups, whose machines run it. */
  async settle(admin: Administrator, groups: readonly GroupSpec[]): Promise<void> {
    await this.#begin(admin.kubeconfig);
    const spec = { image: first.image, imageVersion: "v1", kubernetesComponentsReference: first.components };
    await admin.create(`${kinds}/nodeversions`, {
      ...{ apiVersion, kind: "NodeVersion", metadata: { name: "constellation-version" } },
      spec: { ...spec, kubernetesClusterVersion: "v1.36.1" },
    });
    for (const group of groups) await this.create(admin, group);
    this.#isSettled = true;
  }

  /** One more group, with its object. */
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

  /** Asks for another image or other components. */
  async ask(admin: Administrator, version: Version): Promise<void> {
    this.#version = version;
    const spec = {
      image: version.image,
      kubernetesComponentsReference: version.components,
      imageVersion: version.image,
    };
    await admin.patch(`${kinds}/nodeversions/constellation-version`, { spec });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#machines?.[Symbol.asyncDispose]();
    await this.api[Symbol.asyncDispose]();
  }
}

function simulated(world: FleetWorld, how: Pick<GroupMachinesOptions, "seconds" | "ills">): GroupFleet {
  return new GroupMachines({
    ...{ ...world, ...how },
    script: { podStartSeconds: 0.2, maxPodGraceSeconds: 1 },
    kubelet: "v1.36.1",
  });
}
