/** A control plane that is lost for good while it is to be replaced; processes simulate kubeadm. */
import assert from "node:assert/strict";
import { first, type Version } from "../../deploy/local/cloud/groups/group_ground.ts";
import {
  assertSteady,
  control,
  type ControlPlaneScene,
  machines,
  membersAre,
  running,
  withControlPlanes,
} from "../integration/control_plane_scene.ts";
import type { EtcdGround } from "../integration/etcd_fleet.ts";
import { upToDate } from "../support/group_story.ts";
import { SteadyEtcdClient } from "../support/steady/steady_etcd_client.ts";

Deno.test("K27 control planes: the etcd member of a lost machine is removed, and the rollout continues", async (t) => {
  await withControlPlanes(async (scene) => {
    for (const [when, image] of [["onceAdded", "image-2"], ["beforeAdded", "image-3"]] as const) {
      const tell = (): Promise<void> => loses(scene, { ...first, image }, when);
      if (!await t.step(`completes a rollout although a machine is lost (${when})`, tell)) {
        throw new Error(`Failed to continue after "${when}"`);
      }
    }
  });
});

/**
 * Expects a rollout to `version` to complete although the machine that would be replaced last is lost for good: before
 * the etcd member of the first new machine is added (`beforeAdded`), or while that member is a learner (`onceAdded`).
 */
async function loses(
  { world, ground, etcd }: ControlPlaneScene,
  version: Version,
  when: keyof EtcdGround["fleet"]["befalls"],
): Promise<void> {
  const client = new SteadyEtcdClient(etcd.cluster);
  const before = ground.cloud.instances(control.id).length;
  const lost = running(ground).at(-1);
  assert.ok(lost);
  let isLost = false;
  etcd.fleet.befalls[when] = async () => {
    await etcd.fleet.lose(lost);
    isLost = true;
  };
  await ground.ask(world, version);
  await world.until("a new machine that is about to join", () => Promise.resolve(isLost));
  await upToDate(world, version, machines);
  assertSteady(await client.stop());
  assert.equal(ground.cloud.instances(control.id).length - before, 3, "Expected as many orders as removals");
  await membersAre(etcd, running(ground));
}
