import { firstRelease, nextRelease, poolPath, releasePatch } from "../pool_objects.ts";
import { livingOf, lostOf, newcomers } from "./machine_groups.ts";
import type { Play, Story } from "./story.ts";
import { desiredImage, imagesOf, taintsLeft, tracesLeft } from "./traces.ts";

const reason = "the new image misbehaves under load";

/** A rollout is aborted while one machine is new, one comes and one goes. */
export const abort: Story = {
  title: "A rollout is aborted in the middle: the pool goes back to what it was, and no trace is left",
  replicas: 4,
  surge: 2,
  script: { bootSeconds: { min: 1.5, max: 3 } },
  policy: { budget: { machines: 2 } },
  async tell(play: Play): Promise<void> {
    const { cluster, rollout, narrator, observer } = play;
    const before = livingOf(observer.report().lives);
    await cluster.patch(poolPath, releasePatch(nextRelease));
    await rollout.until("the middle of the rollout", ({ underway = [] }) => {
      const { lives } = observer.report();
      return lostOf(lives, before).length >= 1 && newcomers(lives, before).length >= 3 && underway.length > 0;
    });
    narrator.say("  in the middle of it a person aborts");
    await rollout.ask("abort", { reason });
    await checkGone(play);
  },
};

/** A taint follows the cordon, and is gone a moment after it. */
export async function checkTaints({ cluster, checks }: Pick<Play, "cluster" | "checks">): Promise<void> {
  const seen = await cluster.settled("no taint", { look: () => taintsLeft(cluster), wanted: [] });
  checks.equal("no taint is left", { seen, wanted: [] });
}

async function checkGone({ cluster, rollout, checks }: Play): Promise<void> {
  const status = await rollout.until("the end of the abort", ({ phase }) => phase === "Aborted", 150);
  checks.equal("the template has the last good image again", {
    seen: await desiredImage(cluster),
    wanted: firstRelease.image,
  });
  const images = [...(await imagesOf(cluster)).values()];
  checks.equal("all machines run it", { seen: images, wanted: Array(4).fill(firstRelease.image) });
  checks.equal("all of them are Ready", { seen: status.readyReplicas, wanted: 4 });
  checks.equal("no hold, mark, cordon or annotation is left", { seen: await tracesLeft(cluster), wanted: [] });
  await checkTaints({ cluster, checks });
  const entry = status.history?.at(-1);
  checks.add({
    name: "the history says who aborted and why",
    ok: entry?.outcome === "Aborted" && entry.actor === "demo" && entry.reason.includes(reason),
    detail: `${entry?.outcome}, ${entry?.actor}: ${entry?.reason}`,
  });
}
