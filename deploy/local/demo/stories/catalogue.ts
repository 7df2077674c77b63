import { badImage } from "./bad_image.ts";
import { badProfile } from "./bad_profile.ts";
import { canary } from "./canary.ts";
import { pdb } from "./pdb.ts";
import { inPlace } from "./in_place/in_place.ts";
import { inPlaceOnMachines } from "./in_place/in_place_on_machines.ts";
import { scalingGroup } from "./scaling_group.ts";
import type { MachinesOption } from "../options.ts";
import type { Play, Story } from "./story.ts";
import type { StoryName } from "./story_names.ts";
import { window } from "./window.ts";
import { moveIn } from "./installed/move_in.ts";
import { notices } from "./installed/notices.ts";
import { rollHome } from "./installed/roll_home.ts";
import { rollThroughTrouble } from "./installed/roll_through_trouble.ts";
import { scrapeAll } from "./installed/scrape_all.ts";
import { firstRelease, nextRelease, poolPath, releasePatch } from "../pool_objects.ts";
import { livingOf, lostOf, newcomers } from "./machine_groups.ts";
import { desiredImage, imagesOf, taintsLeft, tracesLeft } from "./traces.ts";

const reason = "the new image misbehaves under load";

/** A rollout is aborted while one machine is new, one comes and one goes. */
const abort: Story = {
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

/** Ends when a person promotes the wave: whatever goes wrong on the way, it is in the midst of the rollout. */
const untilPromoted = "4h";

/** Ostler by its chart, in pods on machines that it made itself; it rolls another pool through all sorts of trouble, and then its own. */
const installed: Story = {
  title: "In one rollout leaders go, Temporal is cut off, certificates and nodes change, and a new version comes",
  replicas: 3,
  surge: 1,
  namespace: "ostler",
  policy: {
    waves: [{ upTo: 1, soak: untilPromoted }, { upTo: 2, soak: untilPromoted }, { upTo: "100%" }],
  },
  prepare: moveIn,
  async tell(play: Play): Promise<void> {
    await rollThroughTrouble(play);
    await notices(play);
    await scrapeAll(play);
    await rollHome(play);
  },
};

/** All stories by their names. */
export const stories: Record<StoryName, Story> = {
  canary,
  "bad-image": badImage,
  "bad-profile": badProfile,
  pdb,
  window,
  abort,
  "scaling-group": scalingGroup,
  "in-place": inPlace,
  installed,
};

/** The story of that name, as it is told of such machines. */
export function storyOf(name: StoryName, machines: MachinesOption): Story {
  return name === "in-place" && machines === "container" ? inPlaceOnMachines : stories[name];
}
