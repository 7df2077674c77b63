/** Control planes that really boot, with etcd on them: Ostler replaces them one by one, without failed writes. */
import assert from "node:assert/strict";
import { setTimeout as pause } from "node:timers/promises";
import { first } from "../../deploy/local/cloud/groups/group_ground.ts";
import type { ControlPlanes } from "../support/kubeadm/control_planes.ts";
import { policies, upToDate } from "../support/group_story.ts";
import { etcdMembers, planes, readyNodes } from "./control_plane_facts.ts";
import { control, type ControlPlaneScene, images, withControlPlanes, workers } from "./control_plane_world.ts";
import { machineTest } from "../machines/real_machines.ts";
import { SteadyClient } from "../support/steady/steady_client.ts";

/**
 * Maximum total time without writes, in milliseconds; etcd elects a leader within one to two seconds, or longer on a
 * busy machine.
 */
const mostDownMs = 15_000;

machineTest(
  "control planes: Ostler replaces control planes that run etcd and are machines of a scaling group",
  async (t) => {
    await withControlPlanes(async (scene) => {
      await t.step(
        "control planes: three control planes and two workers are Ready, and etcd has three voters",
        () => stands(scene),
      );
      await t.step(
        "control planes: a client reads back what it wrote through the load balancer",
        () => keepsWrites(scene),
      );
      for (const [name, story] of stories) await t.step(name, () => story(scene));
    });
  },
);

const stories: [string, (scene: ControlPlaneScene) => Promise<void>][] = [
  ["all control planes are replaced one by one when the image changes, and no acknowledged write is lost", replaces],
  ["a control plane that is lost for good is replaced, and no acknowledged write is lost", mends],
];

async function stands({ world, ground }: ControlPlaneScene): Promise<void> {
  const { cloud } = ground.groups;
  const size = control.size + workers.size;
  const nodes = await world.until("all nodes Ready", async () => {
    const ready = await readyNodes(world);
    return ready.length === size && ready;
  }, 300);
  for (const { metadata: { name, labels }, spec } of nodes) {
    const instance = cloud.instance(spec.providerID ?? "");
    assert.equal(instance?.node, name);
    assert.equal("node-role.kubernetes.io/control-plane" in labels, instance?.group === control.id);
  }
  await upToDate(world, first, size);
  const names = (await etcdMembers(ground)).filter(({ isLearner }) => !isLearner).map(({ name }) => name);
  assert.deepEqual(names.sort(), planes(ground).map(({ node }) => node).sort());
}

async function keepsWrites({ world }: ControlPlaneScene): Promise<void> {
  const client = await SteadyClient.start({ kubeconfig: world.site.stack.adminKubeconfig });
  await pause(3_000);
  const report = await client.stop();
  assert.deepEqual(report.broken, []);
  assert.ok(report.writes > 5 && report.reads > report.writes, JSON.stringify(report));
}

/** Asks for another image, and waits until Ostler has replaced all control planes, and then the workers. */
async function replaces({ world, ground }: ControlPlaneScene): Promise<void> {
  const before = planes(ground).map(({ node }) => node);
  await upToDate(world, first, control.size + workers.size);
  const client = await SteadyClient.start({ kubeconfig: world.site.stack.adminKubeconfig });
  await ground.groups.ask(world, next);
  await world.until("all control planes to be replaced", () => areOthers(ground, before), 600);
  await upToDate(world, next, control.size + workers.size);
  await servedAllAlong(client);
  assert.ok(planes(ground).every(({ template }) => template.fields.image === next.image));
}

/** Cuts the power of one control plane without notice, and waits until Ostler has replaced its machine. */
async function mends({ world, ground, host }: ControlPlaneScene): Promise<void> {
  const [lost] = planes(ground);
  assert.ok(lost);
  await world.create(policies, repairing);
  const client = await SteadyClient.start({ kubeconfig: world.site.stack.adminKubeconfig });
  await (await host.machine(lost.node)).kill();
  await world.until("another control plane in place of the lost one", () => areOthers(ground, [lost.node]), 300);
  await upToDate(world, next, control.size + workers.size);
  await servedAllAlong(client);
}

const next = { ...first, image: images[1] };
const repairing = {
  ...{ apiVersion: "ostler.dev/v1alpha1", kind: "RolloutPolicy", metadata: { name: "control" } },
  spec: { selector: { matchLabels: { pool: control.name } }, repair: { enabled: true, notReadyFor: "5s" } },
};

/**
 * Returns whether the expected number of control planes exists, none of `gone` among them, and exactly these control
 * planes are the members of etcd.
 */
async function areOthers(ground: ControlPlanes, gone: readonly string[]): Promise<boolean> {
  const now = planes(ground).map(({ node }) => node).sort();
  const members = (await etcdMembers(ground)).map(({ name }) => name).sort();
  return now.length === control.size && !now.some((node) => gone.includes(node)) && members.join() === now.join();
}

async function servedAllAlong(client: SteadyClient): Promise<void> {
  const report = await client.stop();
  assert.deepEqual(report.broken, []);
  assert.ok(report.writes > 50 && report.writing.totalMs < mostDownMs, JSON.stringify(report));
}
