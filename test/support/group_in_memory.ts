/** A scaling group in memory: an API server, a cloud without a wire format, and the backend over both. */
import type { Cluster } from "../../activities/cluster.ts";
import { scalingGroup } from "../../activities/backends/scaling_group/mod.ts";
import { useCloud } from "./staged_cluster.ts";
import type { BootTemplate, Driver, Instance } from "../../activities/clouds/driver.ts";
import { refused } from "../../activities/failures.ts";
import {
  type CloudInstance,
  CloudRefusal,
  GroupCloud,
  type GroupSpec,
} from "../../deploy/local/cloud/groups/group_cloud.ts";
import { poolOfGroup } from "../../workflows/commands/start_options.ts";
import { FakeKube } from "./fake_kube.ts";

const prefix = "constellation.edgeless.systems";
export const pool = poolOfGroup("workers");
export const holder = "scaling-group/kube-system/scaling-group.workers";
export const version = { image: "image-1", components: "components-1" };
export const next = { image: "image-2", components: "components-2" };

export const spec: GroupSpec = {
  ...{ id: "projects/p/groups/workers", name: "workers", autoscalerName: "workers", role: "Worker" },
  ...{ min: 1, max: 5, size: 3, zones: ["a"], template: { image: version.image, machineType: "m" } },
};

/** The driver of a cloud in this process. */
export function directCloud(cloud: GroupCloud): Driver {
  const group = (id: string): NonNullable<ReturnType<GroupCloud["group"]>> => {
    const found = cloud.group(id);
    if (!found) throw refused("CloudRefused", `Failed to use group "${id}": it does not exist`);
    return found;
  };
  const bootOf = ({ id, fields }: { id: string; fields: { image: string } }): BootTemplate => ({
    id,
    image: fields.image,
  });
  const sorted = <T>(work: () => T): T => {
    try {
      return work();
    } catch (error) {
      if (error instanceof CloudRefusal) throw refused("CloudRefused", error.message);
      throw error;
    }
  };
  return {
    title: "the cloud in memory",
    capabilities: { orders: "Token", zones: "Ordered" },
    lookEvery: 10,
    groups: () => Promise.resolve({ groups: cloud.groups(), isComplete: true }),
    group: (id) => Promise.resolve(cloud.group(id)),
    template: async (id) => await Promise.resolve(bootOf(group(id).boots)),
    ensureImage: async ({ group: id, image }) => {
      const { boots, templates } = group(id);
      const known = [boots, ...templates].find(({ fields }) => fields.image === image);
      const made = known ?? sorted(() => cloud.addTemplate(group(id), { ...boots.fields, image }));
      return await Promise.resolve(bootOf(cloud.useTemplate(group(id), made.id)));
    },
    ensureTemplate: async ({ group: id, template }) =>
      await Promise.resolve(bootOf(sorted(() => cloud.useTemplate(group(id), template)))),
    instances: async (id) => {
      group(id);
      return await Promise.resolve(cloud.instances(id).filter(({ state }) => state !== "Terminated").map(instanceOf));
    },
    instance: (id) => {
      const found = cloud.instance(id);
      return Promise.resolve(found && found.state !== "Terminated" ? instanceOf(found) : undefined);
    },
    order: async ({ group: id, token, zone }) => {
      try {
        return await Promise.resolve({ outcome: "Ordered", instance: instanceOf(cloud.order(group(id), token, zone)) });
      } catch (error) {
        if (!(error instanceof CloudRefusal)) throw error;
        if (error.reason === "NoCapacity") return { outcome: "NoCapacity", says: error.message };
        throw refused("CloudRefused", error.message);
      }
    },
    remove: async ({ providerId, shrinks }) => {
      cloud.remove(providerId, shrinks);
      const found = cloud.instance(providerId);
      return await Promise.resolve(found && found.state !== "Terminated" ? "Going" : "Gone");
    },
  };
}

function instanceOf({ template, token, ...rest }: CloudInstance): Instance {
  return { ...rest, image: template.fields.image, ...(token === undefined ? {} : { token }) };
}

export class GroupInMemory {
  readonly kube = new FakeKube();
  readonly client: Cluster = this.kube.client;
  readonly cloud: GroupCloud;

  constructor({ capacity, ...change }: Partial<GroupSpec> & { capacity?: number } = {}) {
    this.cloud = new GroupCloud(capacity === undefined ? {} : { capacity });
    this.cloud.create({ ...spec, ...change });
    for (const instance of this.cloud.instances()) instance.since = "2026-01-01T00:00:00Z";
    this.client = this.kube.client;
    useCloud(this.client, () => Promise.resolve(directCloud(this.cloud)));
    this.ask(version);
    const { id, autoscalerName, name, role } = { ...spec, ...change };
    const groupSpec = { nodeImage: "v", groupId: id, autoscalerGroupName: autoscalerName, nodeGroupName: name, role };
    this.kube.put("scalinggroups", { metadata: { name: "workers", labels: { pool: "workers" } }, spec: groupSpec });
    for (const { providerId } of this.cloud.instances()) this.join(providerId, version);
  }

  get backend(): ReturnType<typeof scalingGroup> {
    return scalingGroup(this.client);
  }

  driver(): Promise<Driver> {
    return this.client.cloud.driver();
  }

  /** Sets the desired version of the NodeVersion, and the stage that is released for it. */
  ask(
    { image, components }: typeof version,
    released: { stage: string; digest: string } | undefined = undefined,
  ): void {
    const asked = { image, imageVersion: "", kubernetesComponentsReference: components, kubernetesClusterVersion: "" };
    const status = { conditions: [], ...(released ? { released } : {}) };
    this.kube.put("nodeversions", { metadata: { name: "v" }, spec: asked, status });
  }

  /** Adds a Ready node for an instance. */
  join(
    providerId: string,
    { image, components }: typeof version,
    more: { annotations?: Record<string, string> } = {},
  ): void {
    const instance = this.cloud.instance(providerId);
    this.cloud.set(providerId, { state: "Ready" });
    const annotations = { [`${prefix}/node-image`]: image, [`${prefix}/kubernetes-components`]: components };
    this.kube.put("nodes", {
      metadata: { name: instance?.node ?? "", annotations: { ...annotations, ...more.annotations } },
      spec: { providerID: providerId },
      status: { conditions: [{ type: "Ready", status: "True" }], nodeInfo: { kubeletVersion: "v1.36.1" } },
    });
  }

  /** Completes all deletions. */
  settle(): void {
    for (const { providerId, state } of this.cloud.instances()) {
      if (state === "Terminating") this.cloud.set(providerId, { state: "Terminated" });
    }
  }
}
