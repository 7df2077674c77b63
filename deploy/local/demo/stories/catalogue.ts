import { badImage } from "./bad_image.ts";
import { badProfile } from "./bad_profile.ts";
import { canary } from "./canary.ts";
import { pdb } from "./pdb.ts";
import { inPlace } from "./in_place/in_place.ts";
import { inPlaceOnMachines } from "./in_place/in_place_on_machines.ts";
import { scalingGroup } from "./scaling_group.ts";
import type { MachinesOption } from "../options.ts";
import type { Story, StoryScene } from "./story.ts";
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

/** Aborts a rollout while one machine is new, one is being created and one is being removed. */
const abort: Story = {
  title: "A rollout is aborted in the middle: the pool returns to its previous state, without leftovers",
  replicas: 4,
  surge: 2,
  script: { bootSeconds: { min: 1.5, max: 3 } },
  policy: { budget: { machines: 2 } },
  async tell(scene: StoryScene): Promise<void> {
    const { cluster, rollout, narrator, observer } = scene;
    const before = livingOf(observer.report().lives);
    await cluster.patch(poolPath, releasePatch(nextRelease));
    await rollout.until("the middle of the rollout", ({ underway = [] }) => {
      const { lives } = observer.report();
      return lostOf(lives, before).length >= 1 && newcomers(lives, before).length >= 3 && underway.length > 0;
    });
    narrator.say("  the administrator aborts in the middle of the rollout");
    await rollout.ask("abort", { reason });
    await checkGone(scene);
  },
};

/** Checks that no taint is left; waits, because the taint of a cordon is removed shortly after the cordon itself. */
export async function checkTaints({ cluster, checks }: Pick<StoryScene, "cluster" | "checks">): Promise<void> {
  const seen = await cluster.settled("the removal of all taints", { look: () => taintsLeft(cluster), wanted: [] });
  checks.equal("taints left", { seen, wanted: [] });
}

async function checkGone({ cluster, rollout, checks }: StoryScene): Promise<void> {
  const status = await rollout.until("the end of the abort", ({ phase }) => phase === "Aborted", 150);
  checks.equal("the template has the last good image again", {
    seen: await desiredImage(cluster),
    wanted: firstRelease.image,
  });
  const images = [...(await imagesOf(cluster)).values()];
  checks.equal("images of all machines", { seen: images, wanted: Array(4).fill(firstRelease.image) });
  checks.equal("Ready machines", { seen: status.readyReplicas, wanted: 4 });
  checks.equal("annotations and cordons that the rollout left on machines and nodes", {
    seen: await tracesLeft(cluster),
    wanted: [],
  });
  await checkTaints({ cluster, checks });
  const entry = status.history?.at(-1);
  checks.add({
    name: "the history names the actor and the reason of the abort",
    ok: entry?.outcome === "Aborted" && entry.actor === "demo" && entry.reason.includes(reason),
    detail: `${entry?.outcome}, ${entry?.actor}: ${entry?.reason}`,
  });
}

/** Longer than the story, so only a promotion ends the soak, and every failure occurs during the rollout. */
const untilPromoted = "4h";

/**
 * Installs Ostler with its chart on the machines of pool "home"; rolls out another pool during failures, then "home".
 */
const installed: Story = {
  title: "One rollout survives a new leader, an outage of Temporal, new certificates, a drained node and an upgrade",
  replicas: 3,
  surge: 1,
  namespace: "ostler",
  policy: {
    waves: [{ upTo: 1, soak: untilPromoted }, { upTo: 2, soak: untilPromoted }, { upTo: "100%" }],
  },
  prepare: moveIn,
  async tell(scene: StoryScene): Promise<void> {
    await rollThroughTrouble(scene);
    await notices(scene);
    await scrapeAll(scene);
    await rollHome(scene);
  },
};

/** All stories by name. */
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

/** Returns the story of a name for a kind of machines. */
export function storyOf(name: StoryName, machines: MachinesOption): Story {
  return name === "in-place" && machines === "container" ? inPlaceOnMachines : stories[name];
}
