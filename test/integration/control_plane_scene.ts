/**
 * The scene of control plane stories: a real API server, a real Temporal, a cloud simulated over HTTP, and a process
 * with a real etcd member for each machine. A simulated kubeadm joins each member as a learner and promotes it.
 */
import assert from "node:assert/strict";
import type { CloudInstance } from "../../deploy/local/cloud/groups/group_cloud.ts";
import { EtcdFleet, type EtcdGround } from "./etcd_fleet.ts";
import { alpha, control as lone, policies, standing, upToDate } from "../support/group_story.ts";
import { inScene, type Scene } from "./group_scene.ts";
import { first } from "../../deploy/local/cloud/groups/group_ground.ts";
import { SnapshotStore } from "./snapshot_store.ts";
import type { SteadyEtcdReport } from "../support/steady/steady_etcd_client.ts";
import type { World } from "./world.ts";

export const control = { ...lone, size: 3, max: 4 };
const workers = { ...alpha, size: 2, max: 3 };
/** Number of machines of both groups. */
export const machines = control.size + workers.size;
/** Maximum total time (ms) without an acknowledged write while control planes are replaced. */
const mostDownMs = 15_000;

export interface ControlPlaneScene extends Scene {
  etcd: EtcdGround;
  snapshots: SnapshotStore;
}

/**
 * Runs a story with three control planes and two workers that run the first version, and stops them after the story. If
 * the story fails, the error describes the state of the machines and of etcd.
 */
export async function withControlPlanes(story: (scene: ControlPlaneScene) => Promise<void>): Promise<void> {
  await using etcd = await EtcdFleet.ground();
  await using snapshots = await SnapshotStore.open();
  const prepare = async (world: World): Promise<void> => {
    await giveAccess(world, etcd);
    await world.create(policies, policyWith(snapshots.url));
  };
  const cast = [[workers, 1]] as const;
  await inScene({ cast, fleet: (world) => etcd.open(world), prepare }, async (scene) => {
    await scene.ground.create(scene.world, control);
    await upToDate(scene.world, first, machines);
    await story({ ...scene, etcd, snapshots }).catch(async (error: unknown) => {
      const troubles = etcd.fleet.troubles.map(String).join("; ");
      throw new Error(`${await standing(scene.world, scene.ground)}; etcd: ${troubles}`, { cause: error });
    });
    assert.deepEqual(scene.observer.broken, []);
    assert.deepEqual(etcd.fleet.troubles, []);
  });
}

/** Stores the credentials of etcd in the Secret from which Ostler's worker reads them. */
export async function giveAccess(world: World, { cluster: { credentials } }: EtcdGround): Promise<void> {
  const { ca, cert, key } = credentials;
  const stringData = { "ca.crt": ca, "tls.crt": cert, "tls.key": key };
  await world.create("/api/v1/namespaces/kube-system/secrets", { metadata: { name: "ostler-etcd" }, stringData });
}

/**
 * Returns the policy of the control planes; its budget of 3 machines must have no effect, because control planes are
 * replaced one at a time.
 */
function policyWith(url: string): object {
  return {
    ...{ apiVersion: "ostler.dev/v1alpha1", kind: "RolloutPolicy", metadata: { name: control.name } },
    spec: {
      selector: { matchLabels: { pool: control.name } },
      budget: { machines: 3 },
      repair: { enabled: true, notReadyFor: "5s" },
      etcd: { snapshot: { keep: "Url", url } },
    },
  };
}

/** Running instances of control planes. */
export function running({ cloud }: Scene["ground"]): CloudInstance[] {
  return cloud.instances(control.id).filter(({ state }) => state === "Ready");
}

/** Expects each machine to be a voter of etcd, and etcd to have no other member. */
export async function membersAre({ cluster }: EtcdGround, instances: readonly CloudInstance[]): Promise<void> {
  const members = await cluster.members();
  assert.deepEqual(members.map(({ name = "" }) => name).sort(), instances.map(({ node }) => node).sort());
  assert.ok(members.every(({ isLearner = false }) => !isLearner));
}

/** Expects that no acknowledged write is lost, and that the time without an acknowledged write is short. */
export function assertSteady({ acknowledged, lost, downMs }: SteadyEtcdReport): void {
  assert.deepEqual(lost, []);
  assert.ok(
    acknowledged > 50 && downMs < mostDownMs,
    `Acknowledged ${acknowledged} writes, with ${downMs} ms without any`,
  );
}
