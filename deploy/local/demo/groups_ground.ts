/** Grounds with a cloud that has scaling groups: its machines are what those of the pool are. */
import { first, GroupGround } from "../cloud/groups/group_ground.ts";
import { ContainerFleet } from "../machines/groups/container_fleet.ts";
import { containerGround, type Ground, type GroundOptions, simulatedGround } from "./ground.ts";
import { firstRelease, nextRelease } from "./pool_objects.ts";

/** Image and components that groups change to. */
export const nextImage = "image-2";
export const nextComponents = "components-2";

/** What components bring to machines that really boot. */
export const kubelets: Readonly<Record<string, string>> = {
  [first.components]: firstRelease.kubelet,
  [nextComponents]: nextRelease.kubelet,
};

const labels = { kind: "scaling-group" };

/** Machines that only look like machines from the API server. */
export function simulatedGroups(): Ground {
  const groups = new GroupGround({ labels });
  return { ...simulatedGround, groups, stop: () => groups[Symbol.asyncDispose]() };
}

/** Machines that boot as containers, each image of the cloud as a build of its own; throws where no engine runs them. */
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
