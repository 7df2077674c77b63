import { firstRelease, type Release } from "../pool_objects.ts";
import { lostOf } from "./machine_groups.ts";
import { conditionOf, type RolloutStatus } from "./rollout_desk.ts";
import type { Play } from "./story.ts";
import { desiredImage, imagesOf } from "./traces.ts";

/** Waits until the pool is back at what it had come from, and checks that nobody noticed. */
export async function checkGoneBack(
  play: Play,
  { before, bad }: { before: readonly string[]; bad: Release },
): Promise<RolloutStatus> {
  const { rollout, checks, cluster, observer } = play;
  const back = await rollout.until("the rollout to be rolled back", ({ phase }) => phase === "RolledBack", 120);
  checks.equal("no machine that worked was removed", { seen: lostOf(observer.report().lives, before), wanted: [] });
  checks.equal("the template has the last good image again", {
    seen: await desiredImage(cluster),
    wanted: firstRelease.image,
  });
  const images = new Set((await imagesOf(cluster)).values());
  checks.equal("all machines run it", { seen: [...images], wanted: [firstRelease.image] });
  checks.equal("condition RolledBack", { seen: conditionOf(back, "RolledBack").split(" ")[0], wanted: "True" });
  checkQuarantine(play, back, bad);
  return back;
}

function checkQuarantine({ checks }: Play, status: RolloutStatus, bad: Release): void {
  const [quarantined] = status.quarantine ?? [];
  checks.equal("the bad change is remembered", { seen: quarantined?.image, wanted: bad.image });
  checks.add({
    name: "with who left it and why",
    ok: Boolean(quarantined?.by) && Boolean(quarantined?.reason),
    detail: `${quarantined?.by}: ${quarantined?.reason}`,
  });
  const entry = status.history?.at(-1);
  checks.equal("the history has it", { seen: entry?.outcome, wanted: "RolledBack" });
}
