import { setTimeout as pause } from "node:timers/promises";
import { poolPath, type Release, releasePatch } from "../pool_objects.ts";
import { livingOf, lostOf, newcomers } from "./machine_groups.ts";
import { checkGoneBack } from "./gone_back.ts";
import { conditionOf } from "./rollout_desk.ts";
import type { Story, StoryScene } from "./story.ts";

/** A release whose machines register but never become Ready. */
const badRelease: Release = { image: "docker://ostler.example/ubuntu:24.04-broken", kubelet: "1.36.1" };

const applications = 8;
const everyMs = 1_000;

/** A bad image is rolled back and stays quarantined, although a tool applies it repeatedly. */
export const badImage: Story = {
  title: "An image whose machines never become Ready is rolled back, and applying it again changes nothing",
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
  async tell(scene: StoryScene): Promise<void> {
    const before = livingOf(scene.observer.report().lives);
    scene.narrator.say("  a user rolls out an image whose machines never become Ready");
    await scene.cluster.patch(poolPath, releasePatch(badRelease));
    await checkGoneBack(scene, { before, bad: badRelease });
    const { lives } = scene.observer.report();
    const tried = newcomers(lives, before).length;
    scene.checks.equal("machines created with the bad image", { seen: tried, wanted: 2 });
    await applyAgain(scene, before);
    await fixAndRetry(scene);
  },
};

async function applyAgain(scene: StoryScene, before: readonly string[]): Promise<void> {
  const { cluster, checks, observer, narrator, rollout } = scene;
  narrator.say(`  a tool applies the bad image again, ${applications} times`);
  const tried = newcomers(observer.report().lives, before).length;
  for (let done = 0; done < applications; done++) {
    await cluster.patch(poolPath, releasePatch(badRelease));
    await pause(everyMs);
  }
  const held = await rollout.until("the quarantine of the bad image", (status) => {
    return conditionOf(status, "Quarantined").startsWith("True") && status.image === badRelease.image;
  });
  checks.equal("blocked reason of the Rollout", { seen: held.blockedReason, wanted: "Quarantined" });
  const { lives } = observer.report();
  checks.equal("machines ordered while the bad image is applied again", {
    seen: newcomers(lives, before).length - tried,
    wanted: 0,
  });
  checks.equal("working machines lost while the bad image is applied again", {
    seen: lostOf(lives, before),
    wanted: [],
  });
  const pending = lives.filter(({ orderedAt }) => orderedAt === undefined).length;
  checks.add({
    name: "at most one Machine object is created each time the tool applies the bad image",
    ok: pending <= applications,
    detail: `${pending} Machines without an instance; the tool applied the image ${applications} times`,
  });
}

async function fixAndRetry({ site, narrator, rollout, checks }: StoryScene): Promise<void> {
  narrator.say("  the image is fixed under the same name, and the administrator sends retry");
  site.cloud.script({ faults: [] });
  await rollout.ask("retry", { reason: "the image was rebuilt" });
  const done = await rollout.converged(badRelease);
  checks.equal("retry ends the quarantine and rolls the image out", { seen: done.updated, wanted: "2/2" });
  checks.equal("entries left in quarantine", { seen: (done.quarantine ?? []).length, wanted: 0 });
}
