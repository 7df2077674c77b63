/** What happens to scaling groups, on a real API server, a real Temporal, and a cloud that is played over HTTP. */
import assert from "node:assert/strict";
import type { GroupSpec } from "../../deploy/local/cloud/groups/group_cloud.ts";
import { administratorOf, conditionOf, first, GroupGround, kinds, runsOf, type Version } from "./group_world.ts";
import { GroupObserver } from "../../deploy/local/cloud/groups/group_observer.ts";
import { withWorld } from "./world.ts";
import type { World } from "./world.ts";

const common = {
  role: "Worker" as const,
  min: 1,
  zones: ["a", "b", "c"],
  template: { image: first.image, disk: "20G" },
};
const alpha: GroupSpec = {
  ...common,
  id: "projects/p/groups/Alpha",
  name: "alpha",
  autoscalerName: "alpha",
  max: 6,
  size: 3,
};
/** K10: at its most, so that one has to go before another comes. */
const beta: GroupSpec = {
  ...common,
  id: "projects/p/groups/beta",
  name: "beta",
  autoscalerName: "beta",
  max: 2,
  size: 2,
};

const autoscaler = { namespace: "kube-system", name: "constellation-cluster-autoscaler" };
const policies = "/apis/ostler.dev/v1alpha1/namespaces/kube-system/rolloutpolicies";
const strategies = `${kinds}/autoscalingstrategies`;

type Story = (world: World, ground: GroupGround) => Promise<void>;

/** A story with its name. */
export type GroupStory = [name: string, story: Story];

export const everyday: GroupStory[] = [
  [
    "F1, K10, K24, K25 two groups take another image; what nodes bore, their heirs bear, and the autoscaler is on again",
    image,
  ],
  ["F2 components alone are another", components],
  [
    "K2, K14 an image that does not boot is given up after its attempts, or gone back from, and another one is taken after it",
    badImage,
  ],
  [
    "K11, K17 somebody terminates a newcomer, deletes its record, and sets another template: all is set right",
    meddled,
  ],
];

/** Tells them one after the other in one world, under the eyes of a stranger; each leaves nothing behind. */
export async function tellGroupStories(t: Deno.TestContext, stories: readonly GroupStory[]): Promise<void> {
  await using ground = new GroupGround({ isDead: ({ template }) => template.fields.image === "image-dead" });
  await withWorld({ settings: ground.settings }, async (world) => {
    await createAutoscaler(world);
    await world.create(policies, policyOf("alpha", 2));
    await world.create(policies, policyOf("beta", 1));
    await ground.settle(administratorOf(world), [alpha, beta]);
    await upToDate(world, first, 5);
    using observer = new GroupObserver(administratorOf(world), ground.cloud, { alpha: 2, beta: 0 });
    for (const [name, story] of stories) {
      await t.step(name, async () => {
        await story(world, ground).catch(async (error: unknown) => {
          throw new Error(await standing(world, ground), { cause: error });
        });
        await leavesNothing(world, ground);
        assert.deepEqual(observer.broken, []);
      });
    }
  });
}

/** Where everything is, for whoever reads why a story failed. */
async function standing(world: World, ground: GroupGround): Promise<string> {
  const rollouts = await world.list<{ metadata: { name: string }; status?: Record<string, unknown> }>(
    "/apis/ostler.dev/v1alpha1/namespaces/kube-system/rollouts",
  );
  const told = rollouts.map(({ metadata: { name }, status }) => {
    return { name, phase: status?.["phase"], message: status?.["message"], underway: status?.["underway"] };
  });
  const records = await world.list<{ metadata: { name: string }; spec: object; status?: object }>(
    `${kinds}/pendingnodes`,
  );
  const instances = ground.cloud.instances().filter(({ state }) => state !== "Terminated")
    .map(({ node, state, template, token }) => ({ node, state, image: template.fields.image, token }));
  const sizes = ground.cloud.groups().map(({ name, size }) => ({ name, size }));
  const ready = await conditionOf(world, "Ready");
  return JSON.stringify({ ready, told, records, instances, sizes, lines: ground.lines.slice(-5) });
}

async function image(world: World, ground: GroupGround): Promise<void> {
  const nodes = (await nodesOf(world)).sort();
  for (const [nth, name] of nodes.entries()) {
    const taints = [{ key: "example.com/slot", value: `${nth}`, effect: "PreferNoSchedule" }];
    await world.patch(`/api/v1/nodes/${name}`, {
      metadata: { labels: { slot: `${nth}` }, annotations: { "example.com/owner": `o${nth}` } },
      spec: { taints },
    });
  }
  const before = ground.cloud.instances().length;
  let wasOff = false;
  const look = setInterval(async () => {
    const strategy = await world.get<{ spec: { enabled: boolean } }>(`${strategies}/strategy`).catch(() => undefined);
    if (strategy?.spec.enabled === false) wasOff = true;
  }, 200);
  await ground.ask(administratorOf(world), { ...first, image: "image-2" });
  await upToDate(world, { ...first, image: "image-2" }, 5);
  clearInterval(look);
  assert.equal(ground.cloud.instances().length - before, 5, "as many were made as were replaced");
  assert.deepEqual(await bornBy(world), nodes.map((_, nth) => `${nth} ${nth} o${nth}`));
  assert.ok(wasOff, "the autoscaler was off meanwhile");
}

/** Slot, taint and owner of each node. */
async function bornBy(world: World): Promise<string[]> {
  const nodes = await world.list<{
    metadata: { labels?: Record<string, string>; annotations?: Record<string, string> };
    spec: { providerID?: string; taints?: { key: string; value?: string }[] };
  }>("/api/v1/nodes");
  return nodes.filter(({ spec }) => spec.providerID?.startsWith("sim:")).map(({ metadata, spec }) => {
    const taint = spec.taints?.find(({ key }) => key === "example.com/slot")?.value;
    return `${metadata.labels?.["slot"]} ${taint} ${metadata.annotations?.["example.com/owner"]}`;
  }).sort();
}

async function components(world: World, ground: GroupGround): Promise<void> {
  const before = ground.cloud.instances().length;
  await ground.ask(administratorOf(world), { image: "image-2", components: "components-2" });
  await upToDate(world, { image: "image-2", components: "components-2" }, 5);
  assert.equal(ground.cloud.instances().length - before, 5);
}

async function badImage(world: World, ground: GroupGround): Promise<void> {
  const join = { instance: "4s", address: "5s", registered: "6s", ready: "7s", attempts: 1 };
  await world.patch(`${policies}/alpha`, { spec: { join } });
  // On its way back machines join that do boot.
  const longer = { instance: "15s", address: "16s", registered: "20s", ready: "30s", attempts: 0 };
  await world.patch(`${policies}/beta`, { spec: { join: longer, onFailure: "Rollback" } });
  await ground.ask(administratorOf(world), { image: "image-dead", components: "components-2" });
  await world.until("the group to be halted", async () => {
    const { reason, message } = await conditionOf(world, "Ready");
    return reason === "GroupHalted" && message.includes("alpha");
  });
  const made = (): number =>
    ground.cloud.instances(alpha.id).filter(({ template }) => template.fields.image === "image-dead").length;
  const before = made();
  await new Promise((done) => setTimeout(done, 5_000));
  assert.equal(made(), before, "nothing more is ordered");
  await world.until("the other group to be back on the image of before", async () => {
    const { phase, image } = await world.status("scaling-group.beta") ?? {};
    return phase === "RolledBack" && image === "image-2" &&
      ground.cloud.group(beta.id)?.boots.fields.image === "image-2";
  });
  for (const name of ["alpha", "beta"]) {
    await world.patch(`${policies}/${name}`, { spec: { join: null, onFailure: null } });
  }
  await ground.ask(administratorOf(world), { image: "image-3", components: "components-2" });
  await upToDate(world, { image: "image-3", components: "components-2" }, 5);
}

async function meddled(world: World, ground: GroupGround): Promise<void> {
  const known = ground.cloud.instances().length;
  await ground.ask(administratorOf(world), { image: "image-4", components: "components-2" });
  const ordered = await world.until(
    "an order",
    () => Promise.resolve(ground.cloud.instances().slice(known).find(({ token }) => token !== undefined)),
  );
  const record = `${kinds}/pendingnodes/${ordered.token}`;
  await world.remove(record);
  assert.ok(await world.get(record), "it is kept until we are done with it");
  // The group makes another, from what it boots then.
  ground.cloud.remove(ordered.providerId, false);
  const group = ground.cloud.group(alpha.id);
  assert.ok(group);
  const { id } = ground.cloud.addTemplate(group, { ...group.boots.fields, image: "image-of-somebody" });
  ground.cloud.useTemplate(group, id);
  await upToDate(world, { image: "image-4", components: "components-2" }, 5);
  assert.equal(group.boots.fields.image, "image-4");
}

async function leavesNothing(world: World, ground: GroupGround): Promise<void> {
  for (const kind of ["pendingnodes", "joiningnodes"]) {
    await world.until(`no ${kind} to be left`, async () => (await world.list(`${kinds}/${kind}`)).length === 0);
  }
  assert.deepEqual([alpha, beta].map(({ id }) => ground.cloud.group(id)?.size), [3, 2]);
  await world.until("the autoscaler to be on again", async () => {
    const strategy = await world.get<{ spec: { enabled: boolean }; status?: { replicas?: number } }>(
      `${strategies}/strategy`,
    );
    return strategy?.spec.enabled === true && strategy.status?.replicas === 1;
  });
}

async function upToDate(world: World, version: Version, nodes: number): Promise<void> {
  await world.until(`all nodes to run ${version.image}`, async () => {
    const runs = await runsOf(world);
    const isThere = runs.length === nodes && runs.every((each) => each === `${version.image} ${version.components}`);
    return isThere && (await conditionOf(world, "Ready")).reason === "UpToDate";
  }, 180);
}

async function nodesOf(world: World): Promise<string[]> {
  const nodes = await world.list<{ metadata: { name: string }; spec: { providerID?: string } }>("/api/v1/nodes");
  return nodes.filter(({ spec }) => spec.providerID?.startsWith("sim:")).map(({ metadata }) => metadata.name);
}

function policyOf(name: string, machines: number): object {
  const handOver = { labels: true, taints: true, annotations: ["example.com/owner"] };
  return {
    ...{ apiVersion: "ostler.dev/v1alpha1", kind: "RolloutPolicy", metadata: { name } },
    spec: { selector: { matchLabels: { pool: name } }, budget: { machines }, handOver },
  };
}

async function createAutoscaler(world: World): Promise<void> {
  const labels = { app: "autoscaler" };
  const containers = [{ name: "cluster-autoscaler", image: "images.example/autoscaler:1" }];
  await world.create(`/apis/apps/v1/namespaces/${autoscaler.namespace}/deployments`, {
    metadata: { name: autoscaler.name },
    spec: { replicas: 0, selector: { matchLabels: labels }, template: { metadata: { labels }, spec: { containers } } },
  });
  const spec = { enabled: true, deploymentName: autoscaler.name, deploymentNamespace: autoscaler.namespace };
  await world.create(strategies, {
    ...{ apiVersion: "update.edgeless.systems/v1alpha1", kind: "AutoscalingStrategy" },
    ...{ metadata: { name: "strategy" }, spec },
  });
}
