import { nextVersion } from "../../../installation/versions.ts";
import { poolPath, releasePatch } from "../../pool_objects.ts";
import { shortImage } from "../../machine_board.ts";
import type { Play } from "../story.ts";
import { bootSeconds, installationOf, untilWhole } from "./home.ts";
import { changeLeader, cutTemporal, drainAHome, replaceAllPods } from "./outages.ts";
import { giveNewAccess, retireOldAccess } from "./rotation.ts";

/** One rollout in three waves; each is let go by a person once the trouble of its time is over. */
export async function rollThroughTrouble(play: Play): Promise<void> {
  const { cluster, narrator, ground, rollout, checks } = play;
  const [, next] = ground.releases;
  await cluster.patch(poolPath, releasePatch(next));
  narrator.say(`  the image is changed to ${shortImage(next.image)}, the kubelet to ${next.kubelet}`);
  await underWay(play, 1);
  await cutTemporal(play);
  await changeLeader(play);
  await endOfWave(play, 1);

  const before = await giveNewAccess(play);
  await rollout.ask("promote", {});
  await underWay(play, 2);
  await drainAHome(play);
  await retireOldAccess(play, before);
  await replaceAllPods(play);
  await endOfWave(play, 2);

  const upgraded = upgrade(play);
  await rollout.ask("promote", {});
  await Promise.all([upgraded, rollout.converged(next, bootSeconds)]);
  const done = await rollout.status();
  checks.equal("all machines are new", { seen: done.updated, wanted: "3/3" });
  await untilWhole(play);
}

/** Trouble begins while a machine is made. */
async function underWay({ rollout }: Play, wave: number): Promise<void> {
  await rollout.until(`machine ${wave} under way`, ({ phase, updated, underway = [] }) => {
    return phase === "Rolling" && Number.parseInt(updated ?? "0") < wave && underway.length > 0;
  }, bootSeconds);
}

async function endOfWave({ rollout, checks, options }: Play, wave: number): Promise<void> {
  const isOver = `wave ${wave} to be over`;
  const soaking = await rollout.until(isOver, ({ reason, updated }) => {
    return reason === "Soaking" && updated === `${wave}/3`;
  }, bootSeconds + options.cutSeconds);
  checks.equal(`wave ${wave} came to its end in spite of it`, { seen: soaking.updated, wanted: `${wave}/3` });
}

async function upgrade(play: Play): Promise<void> {
  const { narrator, stage, checks } = play;
  const installation = installationOf(play);
  narrator.say(`  a new version of Ostler comes: helm upgrade to ${nextVersion}`);
  await stage.until("the new version", installation.upgrade(nextVersion));
  const versions = new Set((await installation.pods.all()).map(({ version }) => version));
  checks.equal("all pods are of the new version", { seen: [...versions].join(), wanted: nextVersion });
}
