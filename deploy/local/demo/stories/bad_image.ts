import { setTimeout as pause } from "node:timers/promises";
import { poolPath, type Release, releasePatch } from "../pool_objects.ts";
import { livingOf, lostOf, newcomers } from "./machine_groups.ts";
import { checkGoneBack } from "./gone_back.ts";
import { conditionOf } from "./rollout_desk.ts";
import type { Play, Story } from "./story.ts";

/** Its machines register, and never become Ready. */
const badRelease: Release = { image: "docker://ostler.example/ubuntu:24.04-broken", kubelet: "1.36.1" };

const applications = 8;
const everyMs = 1_000;

/** A bad image is rolled back, and stays away though a tool applies it again and again. */
export const badImage: Story = {
  title: "An image whose machines never become Ready is rolled back, and a tool that applies it again changes nothing",
  replicas: 2,
  surge: 1,
  script: {
    bootSeconds: { min: 0.3, max: 0.8 },
    faults: [{ kind: "not-ready", when: ({ image }) => image === badRelease.image }],
  },
  policy: {
    onFailure: "Rollback",
    maxFailed: 1,
    join: { instance: "20s", address: "20s", registered: "20s", ready: "20s", attempts: 1 },
  },
  async tell(play: Play): Promise<void> {
    const before = livingOf(play.observer.report().lives);
    play.narrator.say("  an image is rolled out whose machines never become Ready");
    await play.cluster.patch(poolPath, releasePatch(badRelease));
    await checkGoneBack(play, { before, bad: badRelease });
    const { lives } = play.observer.report();
    const tried = newcomers(lives, before).length;
    play.checks.equal("the bad machine was tried twice", { seen: tried, wanted: 2 });
    await applyAgain(play, before);
    await mendAndRetry(play);
  },
};

async function applyAgain(play: Play, before: readonly string[]): Promise<void> {
  const { cluster, checks, observer, narrator, rollout } = play;
  narrator.say(`  a tool applies the bad image again, ${applications} times`);
  const tried = newcomers(observer.report().lives, before).length;
  for (let done = 0; done < applications; done++) {
    await cluster.patch(poolPath, releasePatch(badRelease));
    await pause(everyMs);
  }
  const held = await rollout.until("the bad image to be held", (status) => {
    return conditionOf(status, "Quarantined").startsWith("True") && status.image === badRelease.image;
  });
  checks.equal("the Rollout says what holds it", { seen: held.blockedReason, wanted: "Quarantined" });
  const { lives } = observer.report();
  checks.equal("no machine was ordered for it", { seen: newcomers(lives, before).length - tried, wanted: 0 });
  checks.equal("no machine was lost to it", { seen: lostOf(lives, before), wanted: [] });
  const papers = lives.filter(({ orderedAt }) => orderedAt === undefined).length;
  checks.add({
    name: "Machine objects did not flap either",
    ok: papers <= applications,
    detail: `${papers} came on paper only in ${applications} applications`,
  });
}

async function mendAndRetry({ site, narrator, rollout, checks }: Play): Promise<void> {
  narrator.say("  the image is mended under its old name, and a person says retry");
  site.cloud.script({ faults: [] });
  await rollout.ask("retry", { reason: "the image was built anew" });
  const done = await rollout.converged(badRelease);
  checks.equal("retry takes it out of quarantine and rolls it out", { seen: done.updated, wanted: "2/2" });
  checks.equal("nothing is quarantined any more", { seen: (done.quarantine ?? []).length, wanted: 0 });
}
