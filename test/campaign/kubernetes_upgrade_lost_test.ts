/** A control plane is lost for good during an upgrade of Kubernetes: its replacement joins with the new version. */
import assert from "node:assert/strict";
import { marks } from "../../activities/node_version/marks.ts";
import { policies } from "../support/group_story.ts";
import { machineTest } from "../machines/real_machines.ts";
import { etcdMembers, planes } from "./control_plane_facts.ts";
import { control, type ControlPlaneScene } from "./control_plane_world.ts";
import { upgradedOf, upgrades } from "./kubernetes_upgrade_story.ts";
import { after, withOldKubernetes } from "./kubernetes_upgrade_world.ts";

machineTest(
  "K23, K27 control planes: take the next Kubernetes though one of them is lost for good meanwhile",
  async () => {
    await withOldKubernetes(async (scene) => {
      await scene.world.create(policies, repairing);
      await upgrades(scene, { approved: () => losesOne(scene) });
    });
  },
);

const repairing = {
  ...{ apiVersion: "ostler.dev/v1alpha1", kind: "RolloutPolicy", metadata: { name: control.name } },
  spec: { selector: { matchLabels: { pool: control.name } }, repair: { enabled: true, notReadyFor: "5s" } },
};

interface Node {
  metadata: { name: string; annotations?: Record<string, string> };
  spec: { unschedulable?: boolean };
}

/**
 * As soon as the first control plane is upgraded, cuts the power of another control plane, which is not upgraded yet
 * and which the condition's message does not name.
 */
async function losesOne(scene: ControlPlaneScene): Promise<void> {
  const { world, ground, host } = scene;
  const lost = await world.until("one control plane to be done, and another one to be old", async () => {
    const names = planes(ground).map(({ node }) => node);
    const nodes = (await world.list<Node>("/api/v1/nodes")).filter(({ metadata: { name } }) => names.includes(name));
    const isDone = ({ metadata: { annotations = {} } }: Node): boolean =>
      annotations[marks.components] === after.components;
    const others = nodes.filter((node) => !isDone(node) && !node.spec.unschedulable);
    const { message } = await upgradedOf(scene);
    const idle = others.map(({ metadata }) => metadata.name).filter((name) => !message.includes(`"${name}"`));
    return nodes.some(isDone) && /"; 1 of 3 control planes are done$/.test(message) ? idle[0] : undefined;
  }, 900);
  await (await host.machine(lost)).kill();
  await world.until("another control plane in place of the lost one", async () => {
    const now = planes(ground).map(({ node }) => node).sort();
    const members = (await etcdMembers(ground)).map(({ name }) => name).sort();
    return now.length === control.size && !now.includes(lost) && members.join() === now.join();
  }, 900);
  assert.ok(!planes(ground).some(({ node }) => node === lost));
}
