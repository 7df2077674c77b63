/** A cloud that fails, shows things late, or changes by itself while one of its groups is rolled. */
import assert from "node:assert/strict";
import type { CloudInstance } from "../../deploy/local/cloud/groups/group_cloud.ts";
import { first } from "../../deploy/local/cloud/groups/group_ground.ts";
import { alpha, upToDate } from "../support/group_story.ts";
import { type SiteScene, type SiteStory, tellOnSites } from "../support/group_site_scene.ts";
import { ask, askAndOrder, came } from "../support/group_steps.ts";
import { onStage, type Stage } from "../support/workflow_stage.ts";

const test = onStage();

const stories: SiteStory[] = [
  ["K7 the cloud fails at every removal: the removal is repeated until the machine is deleted", removalFails],
  [
    "K9, K12 the cloud shows an ordered machine late: no second machine is ordered, and the group keeps its size",
    shownLate,
  ],
  [
    "K16 a person scales the group up during the rollout: the group gets that size, and all its machines get the new image",
    madeLarger,
  ],
  [
    "K18 the group already has an equal launch template: that template is used, and no other one is created",
    takesTemplate,
  ],
  [
    "K19 the cloud drops a field of a new launch template: no machine boots with the template, and the difference is reported",
    losesField,
  ],
];

const tellAll = (stage: Stage, t: Deno.TestContext): Promise<void> =>
  tellOnSites({ stage, t }, { cast: [[alpha, 1]], stories });

test(
  "scaling group: is rolled even if its cloud fails, shows machines late, or changes its size or templates",
  tellAll,
  stories.length,
);

type Group = Parameters<SiteScene["ground"]["cloud"]["addTemplate"]>[0];

function groupOf({ ground }: SiteScene): Group {
  const group = ground.cloud.group(alpha.id);
  assert.ok(group);
  return group;
}

async function roll(scene: SiteScene, image: string): Promise<void> {
  await ask(scene, image);
  await came(scene, image);
}

async function removalFails(scene: SiteScene): Promise<void> {
  const { ground, befalls } = scene;
  let told = 0;
  befalls.fault = ({ method }) => method === "DELETE" && ++told % 3 !== 0 ? "Broken" : undefined;
  const known = ground.cloud.instances().length;
  await roll(scene, "image-7");
  assert.ok(told >= 3 * alpha.size, `Expected more than ${told} removals`);
  assert.equal(ground.cloud.instances().length - known, alpha.size);
}

async function shownLate(scene: SiteScene): Promise<void> {
  const { ground, befalls } = scene;
  // The cloud lists a new machine only after this time, which is longer than the machine takes to come up.
  befalls.lagMs = 800;
  const known = ground.cloud.instances().length;
  await roll(scene, "image-9");
  assert.equal(ground.cloud.instances().length - known, alpha.size);
}

async function madeLarger(scene: SiteScene): Promise<void> {
  const { ground, observer, world } = scene;
  const group = groupOf(scene);
  await askAndOrder(scene, "image-16");
  observer.expect("alpha", alpha.size + 1, alpha.size);
  ground.cloud.resize(group, group.size + 1);
  await upToDate(world, { ...first, image: "image-16" }, alpha.size + 1);
  assert.equal(group.size, alpha.size + 1);
  observer.expect("alpha", alpha.size + 1, alpha.size - 1);
  ground.cloud.resize(group, alpha.size);
  await came(scene, "image-16");
  observer.expect("alpha", alpha.size, alpha.size);
}

async function takesTemplate(scene: SiteScene): Promise<void> {
  const group = groupOf(scene);
  const { id } = scene.ground.cloud.addTemplate(group, { ...group.boots.fields, image: "image-18" });
  const known = group.templates.length;
  await roll(scene, "image-18");
  assert.deepEqual([group.boots.id, group.templates.length], [id, known]);
}

async function losesField(scene: SiteScene): Promise<void> {
  const { ground, world, befalls } = scene;
  befalls.fault = ({ method, path }) => method === "POST" && path.endsWith("/templates") ? "Altered" : undefined;
  await ask(scene, "image-19");
  await world.until("the rollout to report the lost field", async () => {
    return JSON.stringify(await world.status("scaling-group.alpha") ?? {}).includes("differs");
  });
  const booted = (): CloudInstance[] =>
    ground.cloud.instances().filter(({ template }) => template.fields.image === "image-19");
  assert.deepEqual(booted(), []);
  befalls.fault = () => undefined;
  await roll(scene, "image-19b");
  assert.deepEqual(booted(), []);
  assert.equal(groupOf(scene).boots.fields["disk"], alpha.template["disk"]);
}
