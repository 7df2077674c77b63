/**
 * A test environment whose control planes and worker nodes begin with the previous version of Kubernetes, and can be
 * upgraded.
 */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { componentsKey } from "../../activities/kubernetes/components.ts";
import { first, type Version } from "../../deploy/local/cloud/groups/group_ground.ts";
import { machinesFolder } from "../../deploy/local/demo/ground.ts";
import type { ContainerHost } from "../../deploy/local/machines/container_host.ts";
import { handsImage } from "../../deploy/local/machines/ostree/hands_image.ts";
import { componentImages } from "../support/kubeadm/component_images.ts";
import { componentList } from "../support/kubeadm/component_list.ts";
import { ControlPlanes } from "../support/kubeadm/control_planes.ts";
import {
  controlPlanePrograms,
  kubernetesVersion,
  previousPrograms,
  previousVersion,
} from "../support/kubeadm/programs.ts";
import { withWorld, type World } from "../integration/world.ts";
import { mayInstall, openHost } from "../machines/real_machines.ts";
import { control, type ControlPlaneScene, images, workers } from "./control_plane_world.ts";

/** The versions that all machines run at first, and after the upgrade. */
export const before: Version = { ...first, kubernetes: previousVersion };
export const after: Version = { image: images[1], components: "components-2", kubernetes: kubernetesVersion };

/** Runs one story; nothing remains. */
export async function withOldKubernetes(story: (scene: ControlPlaneScene) => Promise<void>): Promise<void> {
  const [programs, previous] = [await controlPlanePrograms(), await previousPrograms()];
  const folder = join(machinesFolder(), "control-plane");
  const directory = await mkdtemp(join(tmpdir(), "ostler-upgrade-"));
  try {
    const engine = { install: mayInstall, directory: join(machinesFolder(), "docker") };
    const hands = await handsImage({ folder: join(directory, "hands"), workFolder: machinesFolder(), engine });
    const layouts = [
      ...await componentImages(folder, programs),
      ...await componentImages(`${folder}-${previousVersion}`, previous, previousVersion),
      hands.layout,
    ];
    const host = await openHost(() => {}, layouts, { kubeadm: programs.kubeadm, "kubeadm-1.35": previous.kubeadm });
    try {
      for (const image of images) await host.addBuild(image);
      const components = { [after.components]: kubernetesVersion };
      const begun = { host, directory, group: control, version: previousVersion, components };
      await using ground = await ControlPlanes.begin(begun);
      const image = `${new URL(host.mirror.url).host}/${hands.reference}`;
      const settings = { ...ground.groups.settings, OSTLER_HANDS_IMAGE: image };
      // Controllers that lose their lease exit, and are restarted.
      await withWorld({ cluster: ground.cluster, settings, mayRevive: true }, async (world) => {
        await listComponents(world, host);
        await ground.settle(world, [workers]);
        await story({ world, ground, host });
      });
    } finally {
      await host.stop();
    }
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

/**
 * Creates the ConfigMaps that list the components of both versions, and allows hands (pods that change a node) to
 * download these components.
 */
async function listComponents(world: World, host: ContainerHost): Promise<void> {
  const lists = [[before.components, previousVersion], [after.components, kubernetesVersion]] as const;
  for (const [name, version] of lists) {
    const data = { [componentsKey]: await componentList(host, version) };
    await world.create("/api/v1/namespaces/kube-system/configmaps", { metadata: { name }, data });
  }
  await world.patch("/api/v1/namespaces/ostler-hands/configmaps/ostler-hands-image", {
    data: { downloads: `${new URL(host.mirror.url).origin}/` },
  });
}
