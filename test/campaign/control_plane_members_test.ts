/** Control planes are replaced with checks of etcd; processes simulate kubeadm. */
import assert from "node:assert/strict";
import { first } from "../../deploy/local/cloud/groups/group_ground.ts";
import { upToDate } from "../support/group_story.ts";
import {
  assertSteady,
  control,
  type ControlPlaneScene,
  machines,
  membersAre,
  running,
  withControlPlanes,
} from "../integration/control_plane_scene.ts";
import type { SnapshotStore } from "../integration/snapshot_store.ts";
import { SteadyEtcdClient } from "../support/steady/steady_etcd_client.ts";
import type { World } from "../integration/world.ts";

Deno.test("K27 control planes: are replaced one by one with real etcd members; no replacement starts while a member does not respond, and no acknowledged write is lost", async () => {
  await withControlPlanes(rolls);
});

async function rolls({ world, ground, etcd, snapshots }: ControlPlaneScene): Promise<void> {
  const [silent = ""] = running(ground).map(({ node }) => node);
  const before = ground.cloud.instances(control.id).length;
  etcd.cluster.stop(silent);
  const second = { ...first, image: "image-2" };
  await ground.ask(world, second);
  await inDoubt(world, `member "${silent}" does not respond`);
  assert.equal(ground.cloud.instances(control.id).length, before);
  etcd.cluster.goOn(silent);
  const client = new SteadyEtcdClient(etcd.cluster);
  await upToDate(world, second, machines);
  assertSteady(await client.stop());
  assert.equal(ground.cloud.instances(control.id).length - before, 3);
  await membersAre(etcd, running(ground));
  await keepsSnapshots(world, snapshots);
}

/** Expects one snapshot for each replaced machine, with its Event. */
async function keepsSnapshots(world: World, { digests }: SnapshotStore): Promise<void> {
  const events = await world.list<{ reason: string; message: string }>("/api/v1/namespaces/default/events");
  const told = events.filter(({ reason }) => reason === "EtcdSaved").map(({ message }) => message);
  assert.equal(digests.size, 3);
  for (const [name, digest] of digests) {
    assert.ok(told.some((message) => message.includes(name) && message.endsWith(`sha256:${digest}`)), told.join("\n"));
  }
}

/**
 * Waits until the Rollout reports etcd as inconclusive for the reason `why`. While etcd's leader does not respond, the
 * Rollout reports another reason, until a new leader is elected.
 */
async function inDoubt(world: World, why: string): Promise<void> {
  const path = "/apis/ostler.dev/v1alpha1/namespaces/kube-system/rollouts/scaling-group.control";
  await world.until("etcd to be inconclusive", async () => {
    const { status } = await world.get<{ status?: { reason: string; message: string } }>(path) ?? {};
    return status?.reason === "EtcdInDoubt" && status.message.includes(why);
  });
}
