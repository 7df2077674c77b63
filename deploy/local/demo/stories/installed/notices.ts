import { pool, poolPath } from "../../pool_objects.ts";
import type { Play } from "../story.ts";
import { installationOf } from "./home.ts";

const annotation = "k8c.io/operating-system-profile";

/** People were told of the rollout's end, and are told of a halt; of each once. */
export async function notices(play: Play): Promise<void> {
  const { cluster, rollout, narrator, ground, checks } = play;
  const { notices: { told } } = installationOf(play);
  const [, next] = ground.releases;
  await cluster.until("the notice that it converged", () => {
    return Promise.resolve(told.some(({ kind, image }) => kind === "Converged" && image === next.image));
  });
  narrator.say("  the pool is to have a profile that there is not");
  await cluster.patch(poolPath, { metadata: { annotations: { [annotation]: "osp-nowhere" } } });
  await rollout.until("the halt", ({ phase, reason }) => phase === "Halted" && reason === "ProfileMissing");
  await cluster.until("the notice of the halt", () => Promise.resolve(told.some(({ kind }) => kind === "Halted")));
  await cluster.patch(poolPath, { metadata: { annotations: { [annotation]: ground.shape.profile } } });
  await rollout.converged(next);
  const count = (wanted: string): number =>
    told.filter(({ kind, pool: of }) => kind === wanted && of === pool.name).length;
  checks.equal("a halt is told once", { seen: count("Halted"), wanted: 1 });
  const ids = told.map(({ id }) => id);
  checks.equal("no notice came twice", { seen: ids.length - new Set(ids).size, wanted: 0 });
  const ofNext = told.filter(({ kind, image }) => kind === "Converged" && image === next.image);
  checks.add({ name: "the end of the rollout was told", ok: ofNext.length > 0, detail: JSON.stringify(ofNext[0]) });
}
