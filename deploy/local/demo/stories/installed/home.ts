/** The pool that Ostler's pods live on, and the pods. */
import type { Installation } from "../../../installation/installation.ts";
import type { RolloutStatus } from "../rollout_desk.ts";
import type { Play } from "../story.ts";

/** Name of its MachineDeployment. */
export const home = "home";

/** So long may two machines take that boot one after the other. */
export const bootSeconds = 420;

/** The installation that the story's ground has made possible. */
export function installationOf({ installation }: Play): Installation {
  if (installation === undefined) throw new Error("Cannot install Ostler: this ground has no machines for it");
  return installation;
}

/** Waits until the rollout of that pool has come to its end with an image. */
export async function homeConverged({ cluster }: Play, image: string): Promise<void> {
  const path = `/apis/ostler.dev/v1alpha1/namespaces/kube-system/rollouts/${home}`;
  await cluster.until(`pool "${home}" on "${image}"`, async () => {
    const status = (await cluster.get<{ status?: RolloutStatus }>(path))?.status;
    return status?.phase === "Converged" && status.image === image;
  }, bootSeconds);
}

/** Waits until all pods stand. */
export async function untilWhole(play: Play): Promise<void> {
  const { pods } = installationOf(play);
  await play.cluster.until("all pods of Ostler", () => pods.isWhole(), 180);
}
