/** Machines of a group that do not come up, come up halfway, die in the wrong moment, or hold on. */
import assert from "node:assert/strict";
import type { CloudInstance } from "../../deploy/local/cloud/groups/group_cloud.ts";
import { alpha, type GroupStory, nodesOf, policies, type Scene, upToDate } from "./group_scene.ts";
import { administratorOf, conditionOf, first, kinds } from "./group_world.ts";

export const machineTroubles: GroupStory[] = [
  ["K1 another image is wanted while a machine boots the one before: no machine stays with that", leftWhileBooting],
  ["K2 another image is wanted while a newcomer stands beside its donor: the group keeps its size", leftWhilePaired],
  ["K3, K6 a drain waits for a budget that is named; the newcomer dies meanwhile, and is made up for", heirDies],
  ["K11 its cloud reclaims the one that a newcomer came for: the group keeps its size", donorReclaimed],
  ["K11 its cloud reclaims the last one that was to be replaced, while its newcomer boots", lastReclaimed],
  ["K4 newcomers that are never Ready are given up by their deadline, and nothing more is made", neverReady],
  ["K5 nodes of which nobody says what they run have not joined: that is told, and nothing more is made", silent],
  ["K13 a machine that its cloud calls failed is replaced at once", failed],
  ["K15 the API server is away while a newcomer is paired: it is not made twice", awayWhilePairing],
  ["a machine that falls ill while no run is open is repaired: another comes, and it goes", fallsIll],
  ["K26 nothing is done while a node has no provider id, and it is named", nameless],
];

/** Asks for an image, and waits for the first machine that is ordered for it. */
async function askAndOrder(scene: Scene, image: string): Promise<CloudInstance> {
  const { ground, world } = scene;
  const known = ground.cloud.instances().length;
  await ask(scene, image);
  const look = (): CloudInstance | undefined => ground.cloud.instances().slice(known).find(({ token }) => token);
  return await world.until("an order", () => Promise.resolve(look()));
}

function ask({ ground, world }: Scene, image: string): Promise<void> {
  return ground.ask(administratorOf(world), { ...first, image });
}

function came({ world }: Scene, image: string): Promise<void> {
  return upToDate(world, { ...first, image }, alpha.size);
}

/** Machines that were ordered of an image. */
function madeOf({ ground }: Scene, image: string): number {
  return ground.cloud.instances().filter(({ template, token }) => token && template.fields.image === image).length;
}

async function leftWhileBooting(scene: Scene): Promise<void> {
  const { state, template } = await askAndOrder(scene, "image-1a");
  assert.deepEqual([state, template.fields.image], ["Creating", "image-1a"]);
  await ask(scene, "image-1b");
  await came(scene, "image-1b");
}

async function leftWhilePaired(scene: Scene): Promise<void> {
  const release = await holdNodes(scene);
  const { node } = await askAndOrder(scene, "image-2a");
  await isReady(scene, node);
  await untilTold(scene, /PodDisruptionBudget/);
  await ask(scene, "image-2b");
  await release();
  await came(scene, "image-2b");
}

async function heirDies(scene: Scene): Promise<void> {
  const { ground, world } = scene;
  const release = await holdNodes(scene);
  const { node, providerId } = await askAndOrder(scene, "image-3");
  await isReady(scene, node);
  await untilTold(scene, /PodDisruptionBudget "?(default\/)?hold/);
  ground.cloud.remove(providerId, false);
  await world.until("it to be gone", () => Promise.resolve(ground.cloud.instance(providerId)?.state === "Terminated"));
  assert.notEqual((await conditionOf(world, "Ready")).reason, "UpToDate");
  await release();
  await came(scene, "image-3");
}

async function donorReclaimed(scene: Scene): Promise<void> {
  const { ground, world } = scene;
  const release = await holdNodes(scene);
  const { node, token } = await askAndOrder(scene, "image-11");
  await isReady(scene, node);
  await untilTold(scene, /PodDisruptionBudget/);
  const record = await world.get<{ metadata: { annotations?: Record<string, string> } }>(
    `${kinds}/pendingnodes/${token}`,
  );
  const donor = record?.metadata.annotations?.["ostler.dev/donor"];
  const instance = ground.cloud.instances().find((each) => donor === (each.token ?? each.node));
  ground.cloud.remove(instance?.providerId ?? "", false);
  await release();
  await came(scene, "image-11");
}

async function lastReclaimed(scene: Scene): Promise<void> {
  const { ground, world, observer } = scene;
  observer.expect("alpha", alpha.size, alpha.size - 1);
  const isOld = ({ state, template }: CloudInstance): boolean =>
    state === "Ready" && template.fields.image !== "image-11b";
  await ask(scene, "image-11b");
  await world.until("the last order", () => Promise.resolve(madeOf(scene, "image-11b") === alpha.size));
  ground.cloud.remove(ground.cloud.instances().find(isOld)?.providerId ?? "", false);
  await came(scene, "image-11b");
  await world.until("all to be Ready", async () => (await nodesOf(world)).length === alpha.size);
  observer.expect("alpha", alpha.size, alpha.size);
}

async function neverReady(scene: Scene): Promise<void> {
  const { befalls } = scene;
  befalls.isUnready = ({ template }) => template.fields.image === "image-4";
  await haltsAfterAttempts(scene, "image-4", () => Promise.resolve());
  await goesOn(scene, "image-4b");
}

async function silent(scene: Scene): Promise<void> {
  const { world, befalls } = scene;
  befalls.isSilent = () => true;
  await haltsAfterAttempts(scene, "image-5", async () => {
    await world.until("it to be seen to lack that", async () => {
      return (await conditionOf(world, "Ready")).message.includes("awaiting annotation");
    });
  });
  await untilTold(scene, /nobody has written on node/);
  befalls.isSilent = () => false;
  await goesOn(scene, "image-5b");
}

/** Two attempts within short deadlines, and nothing after them. */
async function haltsAfterAttempts(scene: Scene, image: string, meanwhile: () => Promise<void>): Promise<void> {
  const { world } = scene;
  const join = { instance: "4s", address: "5s", registered: "9s", ready: "11s", attempts: 1 };
  await world.patch(`${policies}/alpha`, { spec: { join } });
  const { node } = await askAndOrder(scene, image);
  await world.until("its node", async () => (await nodesOf(world)).includes(node));
  await meanwhile();
  await world.until("the group to be halted", async () => (await conditionOf(world, "Ready")).reason === "GroupHalted");
  const made = madeOf(scene, image);
  await new Promise((done) => setTimeout(done, 3_000));
  assert.deepEqual([made, madeOf(scene, image)], [2, 2]);
}

/** With other deadlines and another image. */
async function goesOn(scene: Scene, image: string): Promise<void> {
  await scene.world.patch(`${policies}/alpha`, { spec: { join: null } });
  await ask(scene, image);
  await came(scene, image);
}

async function failed(scene: Scene): Promise<void> {
  const { ground, world, befalls } = scene;
  const known = ground.cloud.instances().length;
  befalls.isDead = (instance) => ground.cloud.instances().indexOf(instance) === known;
  const { providerId } = await askAndOrder(scene, "image-13");
  ground.cloud.set(providerId, { state: "Failed", trouble: "its disk broke" });
  await world.until("it to go", () => {
    const { state } = ground.cloud.instance(providerId) ?? {};
    return Promise.resolve(state === "Terminating" || state === "Terminated");
  }, 30);
  await came(scene, "image-13");
  assert.equal(ground.cloud.instances().length - known, alpha.size + 1);
}

async function awayWhilePairing(scene: Scene): Promise<void> {
  const { ground, world } = scene;
  const known = ground.cloud.instances().length;
  const { node } = await askAndOrder(scene, "image-15");
  await world.until("its node", async () => (await nodesOf(world)).includes(node));
  const apiServer = world.site.stack.processes.get("kube-apiserver");
  apiServer.kill("SIGKILL");
  await new Promise((done) => setTimeout(done, 3_000));
  await apiServer.restart();
  await came(scene, "image-15");
  assert.equal(ground.cloud.instances().length - known, alpha.size, "as many were made as were replaced");
}

async function fallsIll({ world, ground, observer }: Scene): Promise<void> {
  await world.until("the run to end", async () => (await world.status("scaling-group.alpha"))?.phase === "Converged");
  const conditions = [{ type: "DiskBroken", status: "True", for: "1s" }];
  await world.patch(`${policies}/alpha`, { spec: { repair: { conditions, maxUnhealthy: "40%" } } });
  const known = ground.cloud.instances().length;
  // The ill one is Ready too, and goes before another comes.
  observer.expect("alpha", alpha.size, alpha.size - 1);
  const [node = ""] = await nodesOf(world);
  const condition = { type: "DiskBroken", status: "True", lastTransitionTime: new Date().toISOString() };
  await world.api.call({
    ...{ method: "PATCH", path: `/api/v1/nodes/${node}/status`, contentType: "application/strategic-merge-patch+json" },
    body: { status: { conditions: [condition] } },
  });
  await world.until("another one in its place", async () => {
    const nodes = await nodesOf(world);
    return nodes.length === alpha.size && !nodes.includes(node);
  });
  await world.until("the run to end", async () => (await world.status("scaling-group.alpha"))?.phase === "Converged");
  assert.equal(ground.cloud.instances().length - known, 1, "one was made");
  await world.patch(`${policies}/alpha`, { spec: { repair: null } });
  observer.expect("alpha", alpha.size, alpha.size);
}

async function nameless(scene: Scene): Promise<void> {
  const { world } = scene;
  const annotations = { "constellation.edgeless.systems/scaling-group-id": alpha.id };
  await world.create("/api/v1/nodes", { metadata: { name: "stray", annotations } });
  await ask(scene, "image-26");
  await world.until("the others to be replaced, and it to be named", async () => {
    const { reason, message } = await conditionOf(world, "Ready");
    return madeOf(scene, "image-26") === alpha.size && reason !== "UpToDate" && message.includes("stray");
  });
  await new Promise((done) => setTimeout(done, 3_000));
  assert.notEqual((await conditionOf(world, "Ready")).reason, "UpToDate");
  await world.remove("/api/v1/nodes/stray");
  await came(scene, "image-26");
}

async function isReady({ world }: Scene, name: string): Promise<void> {
  await world.until(`node "${name}" to be Ready`, async () => {
    const node = await world.get<{ status?: { conditions?: { type: string; status: string }[] } }>(
      `/api/v1/nodes/${name}`,
    );
    return node?.status?.conditions?.some(({ type, status }) => type === "Ready" && status === "True");
  });
}

/** What the group's Rollout says to people. */
async function untilTold({ world }: Scene, said: RegExp): Promise<void> {
  await world.until(`the rollout to say ${said}`, async () => {
    const status = await world.status("scaling-group.alpha");
    return said.test(JSON.stringify(status ?? {}));
  });
}

/** A pod on each node that its budget does not let go; gives how they are let go. */
async function holdNodes({ world }: Scene): Promise<() => Promise<void>> {
  const [pods, budgets] = [
    "/api/v1/namespaces/default/pods",
    "/apis/policy/v1/namespaces/default/poddisruptionbudgets",
  ];
  const labels = { app: "hold" };
  const nodes = await nodesOf(world);
  for (const node of nodes) {
    await world.create(pods, {
      metadata: { name: `hold-${node}`, labels },
      spec: { nodeName: node, containers: [{ name: "c", image: "images.example/pause:1" }] },
    });
  }
  const spec = { minAvailable: nodes.length, selector: { matchLabels: labels } };
  await world.create(budgets, {
    apiVersion: "policy/v1",
    kind: "PodDisruptionBudget",
    metadata: { name: "hold" },
    spec,
  });
  await world.until("the pods to run", async () => {
    const found = await world.list<{ status: { phase?: string } }>(pods);
    return found.length === nodes.length && found.every(({ status }) => status.phase === "Running");
  });
  return () => world.remove(`${budgets}/hold`);
}
