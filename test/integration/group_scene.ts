/** Where stories of scaling groups play: a real API server, a real Temporal, and a cloud that is played over HTTP. */
import assert from "node:assert/strict";
import type { ApiOptions } from "../../deploy/local/cloud/groups/group_api.ts";
import type { CloudInstance, GroupSpec } from "../../deploy/local/cloud/groups/group_cloud.ts";
import type { FleetWorld, GroupFleet } from "../../deploy/local/cloud/groups/group_fleet.ts";
import { GroupObserver } from "../../deploy/local/cloud/groups/group_observer.ts";
import { administratorOf, conditionOf, first, GroupGround, kinds, runsOf, type Version } from "./group_world.ts";
import { withWorld } from "./world.ts";
import type { World } from "./world.ts";

const common = {
  role: "Worker" as const,
  min: 1,
  zones: ["a", "b", "c"],
  template: { image: first.image, disk: "20G" },
};
export const alpha: GroupSpec = {
  ...common,
  id: "projects/p/groups/Alpha",
  name: "alpha",
  autoscalerName: "alpha",
  max: 6,
  size: 3,
};
/** K10: at its most, so that one has to go before another comes. */
export const beta: GroupSpec = {
  ...common,
  id: "projects/p/groups/beta",
  name: "beta",
  autoscalerName: "beta",
  max: 2,
  size: 2,
};

const autoscaler = { namespace: "kube-system", name: "constellation-cluster-autoscaler" };
export const policies = "/apis/ostler.dev/v1alpha1/namespaces/kube-system/rolloutpolicies";
export const strategies = `${kinds}/autoscalingstrategies`;

/** What befalls the cloud and its machines; a story sets it, and nothing of it outlives the story. */
export interface Befalls {
  fault?: ApiOptions["fault"];
  lagMs?: number;
  isDead?: (instance: CloudInstance) => boolean;
  isUnready?: (instance: CloudInstance) => boolean;
  isSilent?: (instance: CloudInstance) => boolean;
}

export interface Scene {
  world: World;
  ground: GroupGround;
  observer: GroupObserver;
  befalls: Befalls;
}

/** A story with its name. */
export type GroupStory = [name: string, story: (scene: Scene) => Promise<void>];

/** A group with how many are replaced at a time; 0 where one goes first. */
export type Cast = readonly (readonly [group: GroupSpec, surge: number])[];

/** Tells them one after the other in one world, under the eyes of a stranger; each leaves nothing behind. */
export async function tellGroupStories(
  t: Deno.TestContext,
  { stories, ...setting }: Setting & { stories: readonly GroupStory[] },
): Promise<void> {
  await inScene(setting, async (scene) => {
    const groups = setting.cast.map(([group]) => group);
    for (const [name, story] of stories) await t.step(name, () => tell(scene, groups, story));
  });
}

export interface Setting {
  cast: Cast;
  mayRevive?: boolean;
  /** What the machines are; simulated ones unless told. */
  fleet?: (world: FleetWorld) => Promise<GroupFleet>;
  /** Before there are groups. */
  prepare?: (world: World) => Promise<void>;
}

/** A world whose groups run the first version; it ends with the play. */
export async function inScene(
  { cast, mayRevive = false, fleet, prepare }: Setting,
  play: (scene: Scene) => Promise<void>,
): Promise<void> {
  const befalls: Befalls = {};
  await using ground = new GroupGround({
    fault: (call) => befalls.fault?.(call),
    lagMs: () => befalls.lagMs ?? 0,
    isDead: (instance) => befalls.isDead?.(instance) ?? false,
    isUnready: (instance) => befalls.isUnready?.(instance) ?? false,
    isSilent: (instance) => befalls.isSilent?.(instance) ?? false,
    ...(fleet ? { fleet } : {}),
  });
  await withWorld({ settings: ground.settings, mayRevive }, async (world) => {
    await prepare?.(world);
    await createAutoscaler(world);
    for (const [{ name }, surge] of cast) await world.create(policies, policyOf(name, Math.max(1, surge)));
    const groups = cast.map(([group]) => group);
    await ground.settle(administratorOf(world), groups);
    await upToDate(world, first, groups.reduce((sum, { size }) => sum + size, 0));
    const surges = Object.fromEntries(cast.map(([{ name }, surge]) => [name, surge]));
    using observer = new GroupObserver(administratorOf(world), ground.cloud, surges);
    await play({ world, ground, observer, befalls });
  });
}

async function tell(scene: Scene, groups: readonly GroupSpec[], story: GroupStory[1]): Promise<void> {
  const { world, ground, observer, befalls } = scene;
  await story(scene).catch(async (error: unknown) => {
    throw new Error(await standing(world, ground), { cause: error });
  }).finally(() => {
    for (const each of Object.keys(befalls)) delete befalls[each as keyof Befalls];
  });
  await leavesNothing(world, ground, groups);
  assert.deepEqual(observer.broken, []);
}

/** Where everything is, for whoever reads why a story failed. */
export async function standing(world: World, ground: GroupGround): Promise<string> {
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

async function leavesNothing(world: World, ground: GroupGround, groups: readonly GroupSpec[]): Promise<void> {
  for (const kind of ["pendingnodes", "joiningnodes"]) {
    await world.until(`no ${kind} to be left`, async () => (await world.list(`${kinds}/${kind}`)).length === 0);
  }
  assert.deepEqual(groups.map(({ id }) => ground.cloud.group(id)?.size), groups.map(({ size }) => size));
  await world.until("the autoscaler to be on again", async () => {
    const strategy = await world.get<{ spec: { enabled: boolean }; status?: { replicas?: number } }>(
      `${strategies}/strategy`,
    );
    return strategy?.spec.enabled === true && strategy.status?.replicas === 1;
  });
}

/** Waits until all nodes run it, so many there are, and its NodeVersion says so. */
export async function upToDate(world: World, version: Version, nodes: number, seconds = 180): Promise<void> {
  await world.until(`all nodes to run ${version.image}`, async () => {
    const runs = await runsOf(world);
    const isThere = runs.length === nodes && runs.every((each) => each === `${version.image} ${version.components}`);
    return isThere && (await conditionOf(world, "Ready")).reason === "UpToDate";
  }, seconds);
}

/** Names of the nodes of all groups. */
export async function nodesOf(world: World): Promise<string[]> {
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
