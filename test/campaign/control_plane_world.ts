/**
 * A test environment whose cluster has control planes and worker nodes that really boot; each node is a machine of a
 * scaling group.
 */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { GroupSpec } from "../../deploy/local/cloud/groups/group_cloud.ts";
import { first } from "../../deploy/local/cloud/groups/group_ground.ts";
import { machinesFolder } from "../../deploy/local/demo/ground.ts";
import type { ContainerHost } from "../../deploy/local/machines/container_host.ts";
import { componentImages } from "../support/kubeadm/component_images.ts";
import { ControlPlanes } from "../support/kubeadm/control_planes.ts";
import { controlPlanePrograms } from "../support/kubeadm/programs.ts";
import { withWorld, type World } from "../integration/world.ts";
import { openHost } from "../machines/real_machines.ts";

/** The images of instances at first, and after a change. */
export const images = [first.image, "image-2"] as const;

const common = { zones: ["a", "b", "c"], template: { image: first.image } };
export const control: GroupSpec = {
  ...{ ...common, id: "projects/p/groups/control", name: "control", autoscalerName: "control", role: "ControlPlane" },
  ...{ min: 3, max: 4, size: 3 },
};
export const workers: GroupSpec = {
  ...{ ...common, id: "projects/p/groups/workers", name: "workers", autoscalerName: "workers", role: "Worker" },
  ...{ min: 1, max: 3, size: 2 },
};

export interface ControlPlaneScene {
  world: World;
  ground: ControlPlanes;
  host: ContainerHost;
}

/** Runs one story in which Ostler manages the cluster that it runs in; nothing remains. */
export async function withControlPlanes(story: (scene: ControlPlaneScene) => Promise<void>): Promise<void> {
  const programs = await controlPlanePrograms();
  const layouts = await componentImages(join(machinesFolder(), "control-plane"), programs);
  const host = await openHost(() => {}, layouts, { kubeadm: programs.kubeadm });
  const directory = await mkdtemp(join(tmpdir(), "ostler-control-planes-"));
  try {
    for (const image of images) await host.addBuild(image);
    await using ground = await ControlPlanes.begin({ host, directory, group: control });
    const { cluster, groups: { settings } } = ground;
    // Controllers that lose their lease exit, and are restarted.
    await withWorld({ cluster, settings, mayRevive: true }, async (world) => {
      await ground.settle(world, [workers]);
      await story({ world, ground, host });
    });
  } finally {
    await host.stop();
    await rm(directory, { recursive: true, force: true });
  }
}
