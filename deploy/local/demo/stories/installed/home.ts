/** Pool "home", whose machines run Ostler's pods, and functions that wait for this pool and these pods. */
import type { Installation } from "../../../installation/installation.ts";
import type { RolloutStatus } from "../rollout_desk.ts";
import type { StoryScene } from "../story.ts";

/** Name of the MachineDeployment whose machines run Ostler's pods. */
export const home = "home";

/** The time limit in seconds for two machines that boot one after another. */
export const bootSeconds = 420;

/** Returns the installation of Ostler; throws if the story runs without machines on which Ostler can be installed. */
export function installationOf({ installation }: StoryScene): Installation {
  if (installation === undefined) throw new Error("Failed to install Ostler: the story needs --machines container");
  return installation;
}

/** Waits until pool "home" has converged on an image. */
export async function homeConverged({ cluster }: StoryScene, image: string): Promise<void> {
  const path = `/apis/ostler.dev/v1alpha1/namespaces/kube-system/rollouts/${home}`;
  await cluster.until(`pool "${home}" to converge on image "${image}"`, async () => {
    const status = (await cluster.get<{ status?: RolloutStatus }>(path))?.status;
    return status?.phase === "Converged" && status.image === image;
  }, bootSeconds);
}

/** Waits until all pods of Ostler are Ready. */
export async function untilWhole(scene: StoryScene): Promise<void> {
  const { pods } = installationOf(scene);
  await scene.cluster.until("all pods of Ostler to be Ready", () => pods.isWhole(), 180);
}
