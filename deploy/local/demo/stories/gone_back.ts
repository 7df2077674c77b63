import { firstRelease, type Release } from "../pool_objects.ts";
import { lostOf } from "./machine_groups.ts";
import { conditionOf, type RolloutStatus } from "./rollout_desk.ts";
import type { StoryScene } from "./story.ts";
import { desiredImage, imagesOf } from "./traces.ts";

/**
 * Waits until the pool is rolled back. Checks that no working machine was removed, that the template and all machines
 * have the first image, and that release `bad` is in quarantine. Returns the status of the Rollout.
 */
export async function checkGoneBack(
  scene: StoryScene,
  { before, bad }: { before: readonly string[]; bad: Release },
): Promise<RolloutStatus> {
  const { rollout, checks, cluster, observer } = scene;
  const back = await rollout.until("the rollback", ({ phase }) => phase === "RolledBack", 120);
  checks.equal("working machines removed", { seen: lostOf(observer.report().lives, before), wanted: [] });
  checks.equal("the template has the last good image again", {
    seen: await desiredImage(cluster),
    wanted: firstRelease.image,
  });
  const images = new Set((await imagesOf(cluster)).values());
  checks.equal("images of all machines", { seen: [...images], wanted: [firstRelease.image] });
  checks.equal("condition RolledBack", { seen: conditionOf(back, "RolledBack").split(" ")[0], wanted: "True" });
  checkQuarantine(scene, back, bad);
  return back;
}

function checkQuarantine({ checks }: StoryScene, status: RolloutStatus, bad: Release): void {
  const [quarantined] = status.quarantine ?? [];
  checks.equal("image in quarantine", { seen: quarantined?.image, wanted: bad.image });
  checks.add({
    name: "the quarantine names its actor and reason",
    ok: Boolean(quarantined?.by) && Boolean(quarantined?.reason),
    detail: `${quarantined?.by}: ${quarantined?.reason}`,
  });
  const entry = status.history?.at(-1);
  checks.equal("outcome in the history", { seen: entry?.outcome, wanted: "RolledBack" });
}
