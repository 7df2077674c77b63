import { pool, poolPath } from "../../pool_objects.ts";
import type { StoryScene } from "../story.ts";
import { installationOf } from "./home.ts";

const annotation = "k8c.io/operating-system-profile";

/** Checks that the end of the rollout and a halt were notified, the halt exactly once. */
export async function notices(scene: StoryScene): Promise<void> {
  const { cluster, rollout, narrator, ground, checks } = scene;
  const { notices: { told } } = installationOf(scene);
  const [, next] = ground.releases;
  await cluster.until("the notification that the pool converged", () => {
    return Promise.resolve(told.some(({ kind, image }) => kind === "Converged" && image === next.image));
  });
  narrator.say("  the pool changes to a profile that does not exist");
  await cluster.patch(poolPath, { metadata: { annotations: { [annotation]: "osp-nowhere" } } });
  await rollout.until("the halt", ({ phase, reason }) => phase === "Halted" && reason === "ProfileMissing");
  await cluster.until(
    "the notification of the halt",
    () => Promise.resolve(told.some(({ kind }) => kind === "Halted")),
  );
  await cluster.patch(poolPath, { metadata: { annotations: { [annotation]: ground.shape.profile } } });
  await rollout.converged(next);
  const count = (wanted: string): number =>
    told.filter(({ kind, pool: of }) => kind === wanted && of === pool.name).length;
  checks.equal("notifications of the halt", { seen: count("Halted"), wanted: 1 });
  const ids = told.map(({ id }) => id);
  checks.equal("duplicate notifications", { seen: ids.length - new Set(ids).size, wanted: 0 });
  const ofNext = told.filter(({ kind, image }) => kind === "Converged" && image === next.image);
  checks.add({
    name: "a notification reports the end of the rollout",
    ok: ofNext.length > 0,
    detail: JSON.stringify(ofNext[0]),
  });
}
