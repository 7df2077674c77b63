/**
 * A NodeVersion with two stages is rolled while Ostler's worker process is killed at calls to the cloud: first control
 * planes with a real etcd member each, then worker nodes. Both have three zones, an autoscaler with a strategy, pods,
 * and nodes with labels, taints and annotations that the new nodes take over.
 */
import assert from "node:assert/strict";
import type { Call, Fault } from "../../deploy/local/cloud/groups/group_api.ts";
import type { GroupSpec } from "../../deploy/local/cloud/groups/group_cloud.ts";
import { first, GroupGround, kinds } from "../../deploy/local/cloud/groups/group_ground.ts";
import { GroupObserver } from "../../deploy/local/cloud/groups/group_observer.ts";
import { alpha, type Cast, control as lone, prepareGroups, strategies, upToDate } from "../support/group_story.ts";
import { SteadyEtcdClient } from "../support/steady/steady_etcd_client.ts";
import { assertSteady, giveAccess, membersAre } from "./control_plane_scene.ts";
import { EtcdFleet } from "./etcd_fleet.ts";
import { Killer } from "./group_chaos.ts";
import { withWorld } from "./world.ts";
import type { World } from "./world.ts";

const control: GroupSpec = { ...lone, size: 3, max: 4, rebalances: true };
const workers: GroupSpec = { ...alpha, rebalances: true };
const cast: Cast = [[control, 1], [workers, 1]];
const machines = control.size + workers.size;
const second = { ...first, image: "image-2" };
/** Ostler's worker process is killed at random reads of the cloud, on average at one of this many reads. */
const oneReadOf = 150;

interface Strategy {
  spec: { enabled: boolean };
}

/**
 * Rolls control planes and worker nodes once, while Ostler's worker process is killed and every second changing call to
 * the cloud is interrupted, before or after its effect.
 */
export async function rollStagesAmongKills(seed: number): Promise<void> {
  const killer = new Killer(seed, oneReadOf);
  const orders: Promise<Strategy | undefined>[] = [];
  let onOrder: (() => Promise<Strategy | undefined>) | undefined;
  const fault = (call: Call): Fault | undefined => {
    if (call.method === "POST" && call.path.endsWith("/instances") && onOrder) orders.push(onOrder());
    return killer.at(call);
  };
  await using etcd = await EtcdFleet.ground();
  await using ground = new GroupGround({ fault, fleet: (world) => etcd.open(world) });
  const { cloud } = ground;
  await withWorld({ seed, settings: ground.settings }, async (world) => {
    await giveAccess(world, etcd);
    await prepareGroups(world, cast);
    await ground.settle(world, [control, workers]);
    await upToDate(world, first, machines);
    const born = await furnish(world);
    const known = cloud.instances().length;
    using observer = new GroupObserver({ admin: world, isStrict: true }, ground, { control: 1, alpha: 1 });
    const client = new SteadyEtcdClient(etcd.cluster);
    onOrder = () => world.get<Strategy>(`${strategies}/strategy`);
    killer.watch(world);
    await ground.ask(world, second);
    await upToDate(world, second, machines, 900);
    await killer.end();
    assertSteady(await client.stop());
    assert.ok(killer.kills >= 6, `${killer.kills} kills`);
    assert.deepEqual(observer.broken, []);
    assert.ok(observer.looks > 20, `${observer.looks} snapshots`);
    const made = cloud.instances().slice(known).map(({ group }) => group);
    assert.deepEqual(
      made,
      [...Array(3).fill(control.id), ...Array(3).fill(workers.id)],
      "Expected three new control planes, then three new workers",
    );
    assert.deepEqual(await bornBy(world), born);
    const wereOn = (await Promise.all(orders)).filter((strategy) => strategy?.spec.enabled !== false);
    assert.deepEqual([orders.length >= machines, wereOn], [true, []]);
    await leavesNothing(world, ground);
    const isRunning = ({ group, state }: { group: string; state: string }): boolean =>
      group === control.id && state === "Ready";
    await membersAre(etcd, cloud.instances().filter(isRunning));
  });
}

interface Node {
  metadata: { name: string; labels?: Record<string, string>; annotations?: Record<string, string> };
  spec: { providerID?: string; taints?: { key: string; value?: string }[] };
}

async function nodesOf(world: World): Promise<Node[]> {
  return (await world.list<Node>("/api/v1/nodes")).filter(({ spec }) => spec.providerID?.startsWith("sim:"));
}

/**
 * Gives each node its own label, taint, annotation and pod; returns label, taint and annotation of each node with its
 * role and zone.
 */
async function furnish(world: World): Promise<string[]> {
  for (const [nth, { metadata: { name } }] of (await nodesOf(world)).entries()) {
    const taints = [{ key: "example.com/slot", value: `${nth}`, effect: "PreferNoSchedule" }];
    await world.patch(`/api/v1/nodes/${name}`, {
      metadata: { labels: { slot: `${nth}` }, annotations: { "example.com/owner": `o${nth}` } },
      spec: { taints },
    });
    await world.create("/api/v1/namespaces/default/pods", {
      metadata: { name: `pod-${nth}` },
      spec: { nodeName: name, containers: [{ name: "c", image: "images.example/pause:1" }] },
    });
  }
  return await bornBy(world);
}

/** Returns role, zone, slot label, taint and owner annotation of each node. */
async function bornBy(world: World): Promise<string[]> {
  return (await nodesOf(world)).map(({ metadata: { labels = {}, annotations = {} }, spec: { taints = [] } }) => {
    const role = "node-role.kubernetes.io/control-plane" in labels ? "control" : "worker";
    const taint = taints.find(({ key }) => key === "example.com/slot")?.value;
    const zone = labels["topology.kubernetes.io/zone"];
    return `${role} ${zone} ${labels["slot"]} ${taint} ${annotations["example.com/owner"]}`;
  }).sort();
}

async function leavesNothing(world: World, { cloud }: GroupGround): Promise<void> {
  await world.until("the autoscaler to be enabled again, and the cloud to rebalance all groups again", async () => {
    const strategy = await world.get<Strategy>(`${strategies}/strategy`);
    return strategy?.spec.enabled && cloud.groups().every(({ rebalances }) => rebalances);
  });
  for (const kind of ["pendingnodes", "joiningnodes"]) assert.deepEqual(await world.list(`${kinds}/${kind}`), []);
  assert.deepEqual(cloud.groups().map(({ size }) => size), [control.size, workers.size]);
}
