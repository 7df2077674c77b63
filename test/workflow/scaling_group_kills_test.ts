/**
 * K8, K15, K22: a scaling group is rolled while its steps, or their calls to the cloud, are interrupted. Temporal sees
 * this like a killed worker; `campaign/scaling_group_kills_test.ts` kills a real one.
 */
import assert from "node:assert/strict";
import { assertAllBroken } from "../support/broken_steps.ts";
import { alpha } from "../support/group_story.ts";
import { type SiteScene, type SiteStory, tellOnSites } from "../support/group_site_scene.ts";
import { ask, came } from "../support/group_steps.ts";
import { onStage, type Stage } from "../support/workflow_stage.ts";

const test = onStage();

const stories: SiteStory[] = [
  ["K8, K22 interrupted before and after every step, as many machines are ordered as are replaced", breaksSteps],
  ["K15, K22 every call that changes its cloud is interrupted once, before or after its effect", breaksCalls],
];

const tellAll = (stage: Stage, t: Deno.TestContext): Promise<void> =>
  tellOnSites({ stage, t }, { cast: [[alpha, 1]], stories });

test("scaling group: is rolled at whichever step Ostler's worker process dies", tellAll, stories.length);

async function breaksSteps(scene: SiteScene): Promise<void> {
  const broken = scene.world.breakSteps();
  await makesAsManyAsGo(scene, "image-8");
  const rolling = ["readRound", "awaitReplacementJoined", "ensureNodeAnnotated", "awaitNodeEmptied", "awaitVictimGone"];
  assertAllBroken(broken, ["ensureAutoscalersHeld", "ensureStageReleased", ...rolling]);
}

async function breaksCalls(scene: SiteScene): Promise<void> {
  let changes = 0;
  let cuts = 0;
  scene.befalls.fault = ({ method }) => {
    // Reads are never interrupted, and of the other calls only every second one, so that a repeated call succeeds.
    if (method === "GET" || changes++ % 2 === 1) return undefined;
    return cuts++ % 2 === 0 ? "CutBefore" : "CutAfter";
  };
  await makesAsManyAsGo(scene, "image-15");
  assert.ok(cuts >= 2 * alpha.size, `Interrupted only ${cuts} calls`);
}

async function makesAsManyAsGo(scene: SiteScene, image: string): Promise<void> {
  const { ground } = scene;
  const known = ground.cloud.instances().length;
  await ask(scene, image);
  await came(scene, image);
  assert.equal(ground.cloud.instances().length - known, alpha.size);
}
