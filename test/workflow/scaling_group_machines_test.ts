/** Machines of a group that do not come up, come up halfway, or die at the wrong moment. */
import assert from "node:assert/strict";
import { durations } from "../support/group_everyday.ts";
import { alpha, conditionOf, nodesOf, policies } from "../support/group_story.ts";
import { type SiteScene, type SiteStory, tellOnSites } from "../support/group_site_scene.ts";
import { ask, askAndOrder, came, holdNodes, isReady, madeOf, untilTold } from "../support/group_steps.ts";
import { onStage, type Stage } from "../support/workflow_stage.ts";

const test = onStage();

const stories: SiteStory[] = [
  [
    "K4 new machines that are never Ready are given up at their deadline, and no more are ordered",
    neverReady,
  ],
  [
    "K5 new nodes whose version is unknown do not count as joined: the rollout reports them, and orders no more machines",
    silent,
  ],
  [
    "K1 another image is desired while a machine boots the previous one: no machine keeps the previous image",
    leftWhileBooting,
  ],
  [
    "K2 another image is desired while a new machine exists beside its old machine: the group keeps its size",
    leftWhilePaired,
  ],
  ["K13 a machine that the cloud reports as failed is replaced at once", failed],
  ["a machine becomes unhealthy while no run is open: it is deleted, and one machine is ordered instead", fallsIll],
  [
    "K26 a node without a provider ID is named, and keeps the NodeVersion from UpToDate, while the other nodes are replaced",
    nameless,
  ],
];

const tellAll = (stage: Stage, t: Deno.TestContext): Promise<void> =>
  tellOnSites({ stage, t }, { cast: [[alpha, 1]], stories });

test("scaling group: is rolled whatever happens to its machines", tellAll, stories.length);

async function leftWhileBooting(scene: SiteScene): Promise<void> {
  const { state, template } = await askAndOrder(scene, "image-1a");
  assert.deepEqual([state, template.fields.image], ["Creating", "image-1a"]);
  await ask(scene, "image-1b");
  await came(scene, "image-1b");
}

async function leftWhilePaired(scene: SiteScene): Promise<void> {
  const release = await holdNodes(scene);
  const { node } = await askAndOrder(scene, "image-2a");
  await isReady(scene, node);
  await untilTold(scene, /PodDisruptionBudget/);
  await ask(scene, "image-2b");
  await release();
  await came(scene, "image-2b");
}

async function neverReady(scene: SiteScene): Promise<void> {
  const { befalls } = scene;
  befalls.isUnready = ({ template }) => template.fields.image === "image-4";
  await haltsAfterAttempts(scene, "image-4", () => Promise.resolve());
  await goesOn(scene, "image-4b");
}

async function silent(scene: SiteScene): Promise<void> {
  const { world, befalls } = scene;
  befalls.isSilent = () => true;
  await haltsAfterAttempts(scene, "image-5", async () => {
    await world.until("the missing annotation to be reported", async () => {
      return (await conditionOf(world, "Ready")).message.includes("awaiting annotation");
    });
  });
  await untilTold(scene, /does not have the annotation that names its Kubernetes components/);
  befalls.isSilent = () => false;
  await goesOn(scene, "image-5b");
}

/** Asserts that the group is halted after two attempts with short deadlines, and orders no further machine. */
async function haltsAfterAttempts(scene: SiteScene, image: string, meanwhile: () => Promise<void>): Promise<void> {
  const { world, joinSeconds, idle } = scene;
  await world.patch(`${policies}/alpha`, { spec: { join: { ...durations(joinSeconds, 1), attempts: 1 } } });
  const { node } = await askAndOrder(scene, image);
  await world.until("the node of the ordered machine", async () => (await nodesOf(world)).includes(node));
  await meanwhile();
  await world.until("the group to be halted", async () => (await conditionOf(world, "Ready")).reason === "GroupHalted");
  const made = madeOf(scene, image);
  await idle();
  assert.deepEqual([made, madeOf(scene, image)], [2, 2]);
}

/** Restores the default deadlines, requests another image, and asserts that the group is rolled to that image. */
async function goesOn(scene: SiteScene, image: string): Promise<void> {
  await scene.world.patch(`${policies}/alpha`, { spec: { join: null } });
  await ask(scene, image);
  await came(scene, image);
}

async function failed(scene: SiteScene): Promise<void> {
  const { ground, world, befalls } = scene;
  const known = ground.cloud.instances().length;
  befalls.isDead = (instance) => ground.cloud.instances().indexOf(instance) === known;
  const { providerId } = await askAndOrder(scene, "image-13");
  ground.cloud.set(providerId, { state: "Failed", trouble: "its disk broke" });
  await world.until("the failed machine to be deleted", () => {
    const { state } = ground.cloud.instance(providerId) ?? {};
    return Promise.resolve(state === "Terminating" || state === "Terminated");
  }, 30);
  await came(scene, "image-13");
  assert.equal(ground.cloud.instances().length - known, alpha.size + 1);
}

async function fallsIll({ world, ground, observer }: SiteScene): Promise<void> {
  await world.until("the run to end", async () => (await world.status("scaling-group.alpha"))?.phase === "Converged");
  const conditions = [{ type: "DiskBroken", status: "True", for: "1s" }];
  await world.patch(`${policies}/alpha`, { spec: { repair: { conditions, maxUnhealthy: "40%" } } });
  const known = ground.cloud.instances().length;
  // The unhealthy machine is Ready too, and is deleted before another is ordered, so one Ready machine may be missing.
  observer.expect("alpha", alpha.size, alpha.size - 1);
  const [node = ""] = await nodesOf(world);
  world.report(node, { type: "DiskBroken", status: "True" });
  await world.until("a new node in place of the unhealthy one", async () => {
    const nodes = await nodesOf(world);
    return nodes.length === alpha.size && !nodes.includes(node);
  });
  await world.until("the run to end", async () => (await world.status("scaling-group.alpha"))?.phase === "Converged");
  assert.equal(ground.cloud.instances().length - known, 1, "Expected one order");
  await world.patch(`${policies}/alpha`, { spec: { repair: null } });
  observer.expect("alpha", alpha.size, alpha.size);
}

async function nameless(scene: SiteScene): Promise<void> {
  const { world, idle } = scene;
  const annotations = { "constellation.edgeless.systems/scaling-group-id": alpha.id };
  await world.create("/api/v1/nodes", { metadata: { name: "stray", annotations } });
  await ask(scene, "image-26");
  await world.until("the other nodes to be replaced, and the invalid node to be named", async () => {
    const { reason, message } = await conditionOf(world, "Ready");
    return madeOf(scene, "image-26") === alpha.size && reason !== "UpToDate" && message.includes("stray");
  });
  await idle();
  assert.notEqual((await conditionOf(world, "Ready")).reason, "UpToDate");
  await world.remove("/api/v1/nodes/stray");
  await came(scene, "image-26");
}
