/**
 * K8, K22: wherever Ostler's worker dies while control planes are replaced, etcd has the expected members at the end.
 */
import assert from "node:assert/strict";
import {
  assertSteady,
  control,
  type ControlPlaneScene,
  machines,
  membersAre,
  running,
  withControlPlanes,
} from "../integration/control_plane_scene.ts";
import { Killer } from "../integration/group_chaos.ts";
import { upToDate } from "../support/group_story.ts";
import { first, kinds } from "../../deploy/local/cloud/groups/group_ground.ts";
import { SteadyEtcdClient } from "../support/steady/steady_etcd_client.ts";

Deno.test("K22 control planes: are replaced while Ostler's worker is killed at calls to the cloud, during etcd snapshots, and after the removal of a member", async () => {
  await withControlPlanes(rollsAmongKills);
});

async function rollsAmongKills({ world, ground, etcd, snapshots, befalls }: ControlPlaneScene): Promise<void> {
  // Kills at few reads (one of 1,000), because reads have no effect; kills at changes matter here.
  const killer = new Killer(3, 1_000);
  const before = ground.cloud.instances(control.id).length;
  const client = new SteadyEtcdClient(etcd.cluster);
  befalls.fault = (call) => killer.at(call);
  snapshots.onPut = once(() => killer.kill());
  const removals = new AbortController();
  const watching = killAtRemovals({ etcd }, killer, removals.signal);
  killer.watch(world);
  const second = { ...first, image: "image-2" };
  await ground.ask(world, second);
  await upToDate(world, second, machines, 600);
  removals.abort();
  const seen = await watching;
  await killer.end();
  assertSteady(await client.stop());
  assert.ok(
    killer.kills >= 10 && seen >= 1,
    `Saw ${killer.kills} kills, ${seen} of them after the removal of a member`,
  );
  assert.equal(ground.cloud.instances(control.id).length - before, 3, "Expected as many orders as replacements");
  await membersAre(etcd, running(ground));
  for (const kind of ["pendingnodes", "joiningnodes"]) assert.deepEqual(await world.list(`${kinds}/${kind}`), []);
}

/** Kills the worker between the removal of a member and the removal of that member's instance; returns how often. */
async function killAtRemovals(
  { etcd }: Pick<ControlPlaneScene, "etcd">,
  killer: Killer,
  signal: AbortSignal,
): Promise<number> {
  let known = 0;
  let seen = 0;
  while (!signal.aborted) {
    const { length } = await etcd.cluster.members();
    if (length > 0 && length < known) {
      seen += 1;
      killer.kill();
    }
    known = length > 0 ? length : known;
    await new Promise((done) => setTimeout(done, 50));
  }
  return seen;
}

/** Returns a function that acts only once: with a kill at every attempt no snapshot would ever be complete. */
function once(act: () => void): () => void {
  let isDone = false;
  return () => {
    if (isDone) return;
    isDone = true;
    act();
  };
}
