/** Scaling groups of the simulated cloud beside a real cluster, whose machines join it. */
import { readFile } from "node:fs/promises";
import { type ApiOptions, GroupApi } from "../../deploy/local/cloud/groups/group_api.ts";
import { type CloudInstance, GroupCloud, type GroupSpec } from "../../deploy/local/cloud/groups/group_cloud.ts";
import { GroupMachines } from "../../deploy/local/cloud/groups/group_machines.ts";
import type { World } from "./world.ts";

const apiVersion = "update.edgeless.systems/v1alpha1";
export const kinds = `/apis/${apiVersion}`;

/** Image and components of a NodeVersion. */
export interface Version {
  image: string;
  components: string;
}

export const first: Version = { image: "image-1", components: "components-1" };

/** The cloud; its API begins before the processes that are told of it, and its machines when there is a cluster. */
export class GroupGround implements AsyncDisposable {
  readonly cloud: GroupCloud;
  readonly api: GroupApi;
  /** What its machines said. */
  readonly lines: string[] = [];
  readonly #isDead: (instance: CloudInstance) => boolean;
  #machines: GroupMachines | undefined;
  #version: Version = first;

  constructor(
    { isDead = () => false, ...options }: ApiOptions & {
      isDead?: (instance: CloudInstance) => boolean;
      capacity?: number;
    } = {},
  ) {
    this.#isDead = isDead;
    const { capacity } = options;
    this.cloud = new GroupCloud({
      ...(capacity === undefined ? {} : { capacity }),
      onInstance: (instance, change) => this.#machines?.changed(instance, change),
    });
    this.api = new GroupApi(this.cloud, options);
  }

  /** Settings of a worker. */
  get settings(): Record<string, string> {
    return { OSTLER_CLOUD: "simulated", OSTLER_CLOUD_PLACE: this.api.url };
  }

  /** The world has a NodeVersion and its groups, whose machines run it. */
  async settle(world: World, groups: readonly GroupSpec[]): Promise<void> {
    this.#machines = new GroupMachines({
      kubeconfig: await readFile(world.site.stack.adminKubeconfig, "utf8"),
      cloud: this.cloud,
      script: { podStartSeconds: 0.2, maxPodGraceSeconds: 1 },
      seconds: { boot: 1, ready: 0.5, gone: 1 },
      kubelet: "v1.36.1",
      components: () => Promise.resolve(this.#version.components),
      isDead: this.#isDead,
      log: (line) => void this.lines.push(line),
    });
    const spec = { image: first.image, imageVersion: "v1", kubernetesComponentsReference: first.components };
    await world.create(`${kinds}/nodeversions`, {
      ...{ apiVersion, kind: "NodeVersion", metadata: { name: "constellation-version" } },
      spec: { ...spec, kubernetesClusterVersion: "v1.36.1" },
    });
    for (const group of groups) await this.#create(world, group);
  }

  async #create(world: World, group: GroupSpec): Promise<void> {
    this.cloud.create(group);
    const spec = { nodeImage: "constellation-version", groupId: group.id, autoscalerGroupName: group.autoscalerName };
    await world.create(`${kinds}/scalinggroups`, {
      ...{
        apiVersion,
        kind: "ScalingGroup",
        metadata: { name: group.name, labels: { pool: group.name } },
      },
      spec: { ...spec, nodeGroupName: group.name, autoscaling: false, min: 1, max: 10, role: group.role },
    });
  }

  /** Asks for another image or other components. */
  async ask(world: World, version: Version): Promise<void> {
    this.#version = version;
    const spec = {
      image: version.image,
      kubernetesComponentsReference: version.components,
      imageVersion: version.image,
    };
    await world.patch(`${kinds}/nodeversions/constellation-version`, { spec });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#machines?.[Symbol.asyncDispose]();
    await this.api[Symbol.asyncDispose]();
  }
}

interface Condition {
  type: string;
  reason: string;
  message: string;
}

/** A condition of the NodeVersion. */
export async function conditionOf(world: World, type: string): Promise<Condition> {
  const path = `${kinds}/nodeversions/constellation-version`;
  const version = await world.get<{ status?: { conditions?: Condition[] } }>(path);
  return version?.status?.conditions?.find((each) => each.type === type) ?? { type, reason: "", message: "" };
}

/** Image and components of each node of the cloud. */
export async function runsOf(world: World): Promise<string[]> {
  const prefix = "constellation.edgeless.systems";
  const nodes = await world.list<{
    metadata: { annotations?: Record<string, string> };
    spec: { providerID?: string };
  }>("/api/v1/nodes");
  return nodes.filter(({ spec }) => spec.providerID?.startsWith("sim:")).map(({ metadata: { annotations = {} } }) =>
    `${annotations[`${prefix}/node-image`] ?? ""} ${annotations[`${prefix}/kubernetes-components`] ?? ""}`
  );
}
