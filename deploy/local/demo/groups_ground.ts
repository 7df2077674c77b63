/**
 * Grounds, which are environments of machines, with scaling groups. The machines of the groups are simulated or boot in
 * containers, like those of the demo's pool of machine-controller.
 */
import { first, GroupGround } from "../cloud/groups/group_ground.ts";
import { ContainerFleet } from "../machines/groups/container_fleet.ts";
import { containerGround, type Ground, type GroundOptions, simulatedGround } from "./ground.ts";
import { firstRelease, nextRelease } from "./pool_objects.ts";

/** The image and components that groups change to. */
export const nextImage = "image-2";
export const nextComponents = "components-2";

/** The kubelet version for each value of a NodeVersion's components reference, for machines that really boot. */
export const kubelets: Readonly<Record<string, string>> = {
  [first.components]: firstRelease.kubelet,
  [nextComponents]: nextRelease.kubelet,
};

const labels = { kind: "scaling-group" };

/** Returns an environment (ground) with simulated machines, which exist only as objects of the API server. */
export function simulatedGroups(): Ground {
  const groups = new GroupGround({ labels });
  return { ...simulatedGround, groups, stop: () => groups[Symbol.asyncDispose]() };
}

/**
 * Returns an environment (ground) whose machines boot as containers, and builds one variant of the machine image for
 * each image name that the story's groups use; throws if no Docker engine can run the machines.
 */
export async function containerGroups(options: GroundOptions): Promise<Ground> {
  const ground = await containerGround(options);
  const { host } = ground;
  try {
    for (const build of [first.image, nextImage]) await host.addBuild(build);
  } catch (error) {
    await host.stop();
    throw error;
  }
  const groups = new GroupGround({ labels, fleet: (world) => ContainerFleet.open({ ...world, host, kubelets }) });
  const stop = async (): Promise<void> => {
    await groups[Symbol.asyncDispose]();
    await ground.stop();
  };
  return { ...ground, groups, stop };
}
