/** The common parts of all stories in which Kubernetes is upgraded, with or without a failure during the upgrade. */
// deno-lint-ignore-file no-console -- the measured unavailability is part of the result
import assert from "node:assert/strict";
import { approvedAnnotation } from "../../activities/kubernetes/survey.ts";
import { cordonedByAnnotation, keptByAnnotation } from "../../activities/node/cordon.ts";
import { kinds } from "../../deploy/local/cloud/groups/group_ground.ts";
import { conditionOf, upToDate } from "../support/group_story.ts";
import { SteadyClient } from "../support/steady/steady_client.ts";
import { etcdMembers, planes, readyNodes } from "./control_plane_facts.ts";
import { control, type ControlPlaneScene, workers } from "./control_plane_world.ts";
import { after, before } from "./kubernetes_upgrade_world.ts";
import { SkewWatch } from "./skew_watch.ts";

/**
 * Maximum total time without reads, and maximum total time without writes, in milliseconds; etcd elects a leader within
 * one to two seconds, or longer on a busy machine.
 */
const mostDownMs = 15_000;
const size = control.size + workers.size;
const path = `${kinds}/nodeversions/constellation-version`;

interface Node {
  metadata: { name: string; uid: string; annotations?: Record<string, string> };
  spec: { unschedulable?: boolean };
  status: { nodeInfo: { kubeletVersion: string; osImage: string } };
}

/** Actions of a story while control planes are upgraded, such as causing a failure. */
export interface Befalling {
  /** Runs once the upgrade is approved; the story ends when this and the upgrade have ended. */
  approved?: () => Promise<void>;
}

/**
 * Expects all nodes to get another image and the next minor version of Kubernetes after one edit of the NodeVersion.
 */
export async function upgrades(scene: ControlPlaneScene, { approved }: Befalling = {}): Promise<void> {
  const { world, ground } = scene;
  await stands(scene);
  const client = await SteadyClient.start({ kubeconfig: world.site.stack.adminKubeconfig });
  await using watch = new SkewWatch(
    world,
    (name) => ground.groups.cloud.instances(control.id).some(({ node }) => node === name),
  );
  const old = await standing(scene);
  await ground.groups.ask(world, after);
  await world.until(
    "the upgrade to wait for approval",
    async () => (await upgradedOf(scene)).reason === "AwaitingApproval",
    300,
  );
  assert.deepEqual(await standing(scene), old, "Expected nothing to change before the approval");
  await world.patch(path, { metadata: { annotations: { [approvedAnnotation]: after.kubernetes } } });
  await Promise.all([approved?.(), upToDate(world, after, size, 2_100)]);
  await isUpgraded(scene);
  const { broken, writes, reads, writing, reading } = await client.stop();
  const outages = JSON.stringify([...writing.outages, ...reading.outages]);
  const down = `${writing.totalMs} ms without writes, ${reading.totalMs} ms without reads, ${outages}`;
  console.log(`${writes} writes, ${reads} reads: ${down}`);
  assert.deepEqual(broken, []);
  assert.ok(writes > 50 && writing.totalMs < mostDownMs && reading.totalMs < mostDownMs, down);
  assert.ok(watch.looks > 50, `Looked ${watch.looks} times`);
  assert.deepEqual(watch.broken, [], "K23 a worker ran a newer kubelet than a control plane");
  const inPlace = old.nodes.filter(({ uid }) => watch.seen.get(uid)?.size === 2);
  assert.ok(
    inPlace.length > 0 && inPlace.every(({ isPlane }) => isPlane),
    "Expected control planes to be upgraded in place",
  );
}

/**
 * Waits until all nodes are Ready and run the image of `before`, and expects their kubelets to run the Kubernetes
 * version of `before`.
 */
async function stands({ world }: ControlPlaneScene): Promise<void> {
  const nodes = await world.until("all nodes Ready", async () => {
    const ready = await readyNodes(world);
    return ready.length === size && ready;
  }, 300);
  assert.equal(nodes.length, size);
  await upToDate(world, before, size);
  assert.deepEqual(new Set(await kubelets({ world })), new Set([before.kubernetes]));
}

interface Standing {
  nodes: { name: string; uid: string; isPlane: boolean; kubelet: string; isCordoned: boolean }[];
  servers: string[];
  instances: number;
  templates: number;
}

/** Returns the state of nodes and cloud that an upgrade would change. */
async function standing({ world, ground }: ControlPlaneScene): Promise<Standing> {
  const { cloud } = ground.groups;
  const names = planes(ground).map(({ node }) => node);
  const nodes = (await world.list<Node>("/api/v1/nodes")).map(({ metadata: { name, uid }, spec, status }) => ({
    ...{ name, uid, isPlane: names.includes(name), kubelet: status.nodeInfo.kubeletVersion },
    isCordoned: spec.unschedulable ?? false,
  }));
  const templates = cloud.groups().flatMap((group) => group.templates).length;
  return { nodes, servers: await servers({ world }), instances: cloud.instances().length, templates };
}

async function kubelets({ world }: Pick<ControlPlaneScene, "world">): Promise<string[]> {
  return (await world.list<Node>("/api/v1/nodes")).map(({ status }) => status.nodeInfo.kubeletVersion);
}

/** The image of each API server. */
async function servers({ world }: Pick<ControlPlaneScene, "world">): Promise<string[]> {
  const pods = await world.list<{ spec: { containers: { image: string }[] } }>(
    "/api/v1/namespaces/kube-system/pods?labelSelector=component%3Dkube-apiserver",
  );
  return pods.map(({ spec: { containers } }) => containers[0]?.image ?? "").sort();
}

/** The condition of the upgrade. */
export function upgradedOf({ world }: Pick<ControlPlaneScene, "world">): ReturnType<typeof conditionOf> {
  return conditionOf(world, "KubernetesUpgraded");
}

/** Expects every machine to have the new image and version, and nothing of the upgrade to remain. */
async function isUpgraded(scene: ControlPlaneScene): Promise<void> {
  const { world, ground } = scene;
  assert.equal((await upgradedOf(scene)).reason, "UpToDate");
  const { version } = { version: after.kubernetes ?? "" };
  const nodes = await world.list<Node>("/api/v1/nodes");
  assert.deepEqual(nodes.map(({ status }) => status.nodeInfo.kubeletVersion), nodes.map(() => version));
  assert.ok(nodes.every(({ status }) => status.nodeInfo.osImage.endsWith(after.image)), "Expected the new image");
  const images = await servers(scene);
  assert.equal(images.length, control.size);
  assert.ok(images.every((image) => image.endsWith(`:${version}`)), images.join());
  const members = await etcdMembers(ground);
  assert.ok(members.every(({ isLearner = false }) => !isLearner));
  assert.deepEqual(members.map(({ name }) => name).sort(), planes(ground).map(({ node }) => node).sort());
  assert.equal(members.length, control.size);
  for (const { metadata: { name, annotations = {} }, spec } of nodes) {
    assert.equal(spec.unschedulable ?? false, false, `Node "${name}" is cordoned`);
    const left = [cordonedByAnnotation, keptByAnnotation].filter((annotation) => annotation in annotations);
    assert.deepEqual(left, [], `Node "${name}" has annotations of a finished step`);
  }
  await world.until("no slot to be left", async () => {
    const map = await world.get<{ data?: object }>("/api/v1/namespaces/kube-system/configmaps/ostler-control-planes");
    return Object.keys(map?.data ?? {}).length === 0;
  });
  for (const kind of ["pendingnodes", "joiningnodes"]) {
    await world.until(`no ${kind} to be left`, async () => (await world.list(`${kinds}/${kind}`)).length === 0);
  }
  const { cloud } = ground.groups;
  for (const { id, size: expected } of [control, workers]) assert.equal(cloud.group(id)?.size, expected);
}
