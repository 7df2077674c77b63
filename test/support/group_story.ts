/**
 * The common parts of stories (test scenarios) of scaling groups, which run on a real API server with Ostler's
 * processes, or on a cluster in memory.
 */
import assert from "node:assert/strict";
import type { ApiOptions } from "../../deploy/local/cloud/groups/group_api.ts";
import type { CloudInstance, GroupSpec } from "../../deploy/local/cloud/groups/group_cloud.ts";
import type { GroupGround, Version } from "../../deploy/local/cloud/groups/group_ground.ts";
import { first, kinds } from "../../deploy/local/cloud/groups/group_ground.ts";
import type { GroupObserver } from "../../deploy/local/cloud/groups/group_observer.ts";
import type { ApiObjects } from "../../deploy/local/stack/api_objects.ts";
import type { RolloutStatus } from "../integration/pool_objects.ts";

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
/** A group at its maximum size, so that a machine must be deleted before another one is ordered (K10). */
export const beta: GroupSpec = {
  ...common,
  id: "projects/p/groups/beta",
  name: "beta",
  autoscalerName: "beta",
  max: 2,
  size: 2,
};
export const control: GroupSpec = {
  ...{ ...alpha, id: "projects/p/groups/control", name: "control", autoscalerName: "control" },
  ...{ role: "ControlPlane", size: 1, max: 3 },
};

const autoscaler = { namespace: "kube-system", name: "constellation-cluster-autoscaler" };
export const policies = "/apis/ostler.dev/v1alpha1/namespaces/kube-system/rolloutpolicies";
export const strategies = `${kinds}/autoscalingstrategies`;

/** Faults of the cloud and its machines; a story sets them, and they end with the story. */
export interface Befalls {
  fault?: ApiOptions["fault"];
  lagMs?: number;
  isDead?: (instance: CloudInstance) => boolean;
  isUnready?: (instance: CloudInstance) => boolean;
  isSilent?: (instance: CloudInstance) => boolean;
}

/** The calls that a story needs: requests to the API server, and waits for a state. */
export interface GroupWorld extends Pick<ApiObjects, "get" | "list" | "create" | "patch" | "remove"> {
  readonly kubeconfig?: string;
  until<T>(what: string, look: () => Promise<T | undefined | false>, seconds?: number): Promise<T>;
  status(name: string): Promise<RolloutStatus | undefined>;
}

/** Deadlines of the join stages that healthy machines of this scene meet, in whole seconds. */
export interface JoinSeconds {
  instance: number;
  address: number;
  registered: number;
  ready: number;
}

/** The environment of a story: `world` is its cluster, real or in memory, and `ground` has the cloud of its groups. */
export interface GroupScene<World extends GroupWorld = GroupWorld> {
  world: World;
  ground: GroupGround;
  observer: GroupObserver;
  befalls: Befalls;
  joinSeconds: JoinSeconds;
  /** Waits so long that any remaining action has happened. */
  idle: () => Promise<void>;
}

/** A story with its name. */
export type GroupStory<World extends GroupWorld = GroupWorld> = [
  name: string,
  story: (scene: GroupScene<World>) => Promise<void>,
];

/**
 * The groups of a story, each with its surge: the number of machines that may be added, or 0 if a machine must be
 * deleted first.
 */
export type Cast = readonly (readonly [group: GroupSpec, surge: number])[];

/** Creates the objects that groups need: a cluster-autoscaler, and a policy for each group. */
export async function prepareGroups(world: GroupWorld, cast: Cast): Promise<void> {
  await createAutoscaler(world);
  for (const [{ name }, surge] of cast) await world.create(policies, policyOf(name, Math.max(1, surge)));
}

/** Runs a story; fails unless the story leaves nothing behind and the observer saw no broken promise. */
export async function tell<World extends GroupWorld>(
  scene: GroupScene<World>,
  groups: readonly GroupSpec[],
  story: GroupStory<World>[1],
): Promise<void> {
  const { world, ground, observer, befalls } = scene;
  try {
    await story(scene).catch(async (error: unknown) => {
      throw new Error(await standing(world, ground), { cause: error });
    });
  } finally {
    for (const each of Object.keys(befalls)) delete befalls[each as keyof Befalls];
  }
  await leavesNothing(world, ground, groups);
  assert.deepEqual(observer.broken, []);
}

/** Describes the state of everything, for the message of a failed story. */
export async function standing(world: GroupWorld, ground: GroupGround): Promise<string> {
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

async function leavesNothing(world: GroupWorld, ground: GroupGround, groups: readonly GroupSpec[]): Promise<void> {
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

/** Waits until this number of nodes is up to date and the NodeVersion reports that. */
export async function upToDate(world: GroupWorld, version: Version, nodes: number, seconds = 180): Promise<void> {
  await world.until(`all nodes to run ${version.image}`, async () => {
    const runs = await runsOf(world);
    const isThere = runs.length === nodes && runs.every((each) => each === `${version.image} ${version.components}`);
    return isThere && (await conditionOf(world, "Ready")).reason === "UpToDate";
  }, seconds);
}

interface Condition {
  type: string;
  reason: string;
  message: string;
}

/** A condition of the NodeVersion. */
export async function conditionOf(world: Pick<GroupWorld, "get">, type: string): Promise<Condition> {
  const path = `${kinds}/nodeversions/constellation-version`;
  const version = await world.get<{ status?: { conditions?: Condition[] } }>(path);
  return version?.status?.conditions?.find((each) => each.type === type) ?? { type, reason: "", message: "" };
}

/** Returns image and components of each node of the cloud. */
export async function runsOf(world: Pick<GroupWorld, "list">): Promise<string[]> {
  const prefix = "constellation.edgeless.systems";
  const nodes = await world.list<{
    metadata: { annotations?: Record<string, string> };
    spec: { providerID?: string };
  }>("/api/v1/nodes");
  return nodes.filter(({ spec }) => spec.providerID?.startsWith("sim:")).map(({ metadata: { annotations = {} } }) =>
    `${annotations[`${prefix}/node-image`] ?? ""} ${annotations[`${prefix}/kubernetes-components`] ?? ""}`
  );
}

/** Returns the names of the nodes of all groups. */
export async function nodesOf(world: Pick<GroupWorld, "list">): Promise<string[]> {
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

async function createAutoscaler(world: GroupWorld): Promise<void> {
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
