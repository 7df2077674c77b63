/**
 * A cluster that was set up without Ostler, in a cloud like AWS: no join service announces the components of nodes. The
 * groups have three zones, and the cloud rebalances them. The pods have zonal disks, and no AutoscalingStrategy exists
 * for the cluster-autoscaler.
 */
import assert from "node:assert/strict";
import type { GroupSpec } from "../../deploy/local/cloud/groups/group_cloud.ts";
import type { Version } from "../../deploy/local/cloud/groups/group_ground.ts";
import { GroupObserver } from "../../deploy/local/cloud/groups/group_observer.ts";
import { ClusterAutoscaler, scaleDownDisabled } from "./cluster_autoscaler.ts";
import type { Stored } from "./fake_kube.ts";
import { runsOf, standing, upToDate } from "./group_story.ts";
import { GroupSite } from "./group_site.ts";
import type { Stage } from "./workflow_stage.ts";
import { ZonalPods } from "./zonal_pods.ts";

/** A version without components, because nothing installs components in this cluster. */
export const first: Version = { image: "image-1", components: "" };
/**
 * Time limit for waits, which is less than the time limit of a story, so that the state is reported after a failure.
 */
const patienceSeconds = 50;
/** Interval of the observer: shorter than any step of a machine. */
const observedEveryMs = 25;

export interface StrangerScene {
  world: GroupSite;
  autoscaler: ClusterAutoscaler;
  pods: ZonalPods;
}

/**
 * Runs a story in which Ostler rolls `groups`; `others` also exist. Fails unless sizes, zones and pods are the same at
 * the end, and no machine was terminated while it had pods.
 */
export async function amongStrangers(
  stage: Stage,
  { groups, others = [] }: { groups: readonly GroupSpec[]; others?: readonly GroupSpec[] },
  story: (scene: StrangerScene) => Promise<void>,
): Promise<void> {
  await using world = new GroupSite(stage, { isSilent: () => true });
  const { ground, kube } = world;
  using autoscaler = new ClusterAutoscaler(kube, ground.cloud, [...groups, ...others]);
  await ground.settle(world, [...groups, ...others], first);
  const machines = [...groups, ...others].reduce((sum, { size }) => sum + size, 0);
  await world.until("all nodes to be known and Ready", async () => {
    const runs = await runsOf(world);
    return runs.length === machines && runs.every((each) => each === `${first.image} ${first.components}`) &&
      kube.all("nodes").every(isReady);
  });
  using pods = new ZonalPods(kube);
  autoscaler.start();
  const surges = Object.fromEntries([...groups, ...others].map(({ name }) => [name, 1]));
  using observer = new GroupObserver({ admin: world, everyMs: observedEveryMs, isStrict: true }, ground, surges);
  const before = stateOf(world);
  await story({ world, autoscaler, pods }).catch(async (error: unknown) => {
    throw new Error(`${observer.broken.join("; ")} ${await standing(world, ground)}`, { cause: error });
  });
  await world.until("each instance to be Ready or Terminated, and scale-down and rebalancing to be on again", () => {
    const isAtRest = ground.cloud.instances().every(({ state }) => state === "Ready" || state === "Terminated");
    const isHeld = kube.all("nodes").some(({ metadata }) => metadata.annotations?.[scaleDownDisabled]);
    return Promise.resolve(isAtRest && !isHeld && ground.cloud.groups().every(({ rebalances }) => rebalances));
  });
  assert.deepEqual(observer.broken, []);
  assert.ok(observer.looks > 10, `Only ${observer.looks} looks`);
  assert.deepEqual(stateOf(world), before);
  assert.deepEqual([...pods.pending], [], "Expected a node in its zone for each pod at any time");
  const { has, disk } = pods.zones();
  assert.deepEqual(has, disk);
  assert.deepEqual([autoscaler.removed, autoscaler.replicas], [[], 1]);
}

/** Returns whether a node is Ready and accepts pods. */
function isReady({ spec, status }: Stored): boolean {
  const { conditions = [] } = status as { conditions?: { type: string; status: string }[] } ?? {};
  const { taints = [] } = spec as { taints?: { key: string }[] } ?? {};
  return conditions.some(({ type, status }) => type === "Ready" && status === "True") &&
    !taints.some(({ key }) => key === "node.kubernetes.io/not-ready");
}

/** Asks for an image, and waits until this number of nodes runs it. */
export async function rollTo({ world }: StrangerScene, image: string, nodes: number): Promise<void> {
  await world.ground.ask(world, { ...first, image });
  await upToDate(world, { ...first, image }, nodes, patienceSeconds);
}

/** The size of each group, and its number of machines in each zone. */
function stateOf({ ground: { cloud } }: GroupSite): object[] {
  return cloud.groups().map(({ id, name, size, zones }) => {
    const alive = cloud.instances(id).filter(({ state }) => state !== "Terminating" && state !== "Terminated");
    const inZone = (zone: string): number => alive.filter((each) => each.zone === zone).length;
    return { name, size, zones: Object.fromEntries(zones.map((zone) => [zone, inZone(zone)])) };
  });
}
