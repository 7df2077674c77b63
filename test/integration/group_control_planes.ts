/**
 * Control planes beside workers, in a cluster whose etcd nobody may look at. How they are replaced where somebody may is told in
 * `control_plane_test.ts`; what comes with upgrades: U1 to U8 (which versions of Kubernetes follow which).
 */
import assert from "node:assert/strict";
import type { GroupSpec } from "../../deploy/local/cloud/groups/group_cloud.ts";
import { alpha, type GroupStory, type Scene, strategies, upToDate } from "./group_scene.ts";
import { administratorOf, conditionOf, first } from "./group_world.ts";
import type { World } from "./world.ts";

export const control: GroupSpec = {
  ...{ ...alpha, id: "projects/p/groups/control", name: "control", autoscalerName: "control" },
  ...{ role: "ControlPlane", size: 1, max: 3 },
};

export const controlPlaneStories: GroupStory[] = [
  ["K23 control planes have other components: their stage is refused, and workers wait", componentsWait],
  ["K23 control planes have another image: they go first, and no worker begins before they are done", imageWaits],
  ["K24 a group that comes once all is done takes nothing up before the autoscaler is off", cameLater],
];

async function componentsWait({ world, ground }: Scene): Promise<void> {
  const known = ground.cloud.instances().length;
  await ground.ask(administratorOf(world), { ...first, components: "components-2" });
  await readyFor(world, "ControlPlaneRefused");
  await new Promise((done) => setTimeout(done, 3_000));
  assert.equal(ground.cloud.instances().length, known, "no kubelet is newer than its API server");
  await ground.ask(administratorOf(world), first);
  await upToDate(world, first, alpha.size + control.size);
}

async function imageWaits({ world, ground }: Scene): Promise<void> {
  const known = ground.cloud.instances().length;
  await ground.ask(administratorOf(world), { ...first, image: "image-23" });
  await controlPlanesWait(world);
  await new Promise((done) => setTimeout(done, 3_000));
  assert.equal(ground.cloud.instances().length, known, "no worker begins before control planes are done");
  await ground.ask(administratorOf(world), first);
  await upToDate(world, first, alpha.size + control.size);
}

/** Nobody has given access to etcd here: none of them is touched. With it they are replaced in `control_plane_test.ts`. */
async function controlPlanesWait(world: World): Promise<void> {
  const { message } = await readyFor(world, "GroupHalted");
  assert.match(
    message,
    /"control" waits: EtcdInDoubt: Cannot reach etcd with Secret "kube-system\/ostler-etcd": there is none/,
  );
}

async function readyFor(world: World, reason: string): Promise<{ message: string }> {
  await world.until(`the NodeVersion to tell ${reason}`, async () => {
    return (await conditionOf(world, "Ready")).reason === reason;
  });
  return await conditionOf(world, "Ready");
}

async function cameLater({ world, ground, befalls }: Scene): Promise<void> {
  const template = { ...alpha.template, image: "image-0" };
  const later: GroupSpec = {
    ...alpha,
    id: "projects/p/groups/later",
    name: "later",
    autoscalerName: "later",
    size: 1,
    template,
  };
  const read = (): Promise<{ spec: { enabled: boolean }; status?: { replicas?: number } } | undefined> =>
    world.get(`${strategies}/strategy`);
  assert.equal((await read())?.spec.enabled, true);
  let atOrder: ReturnType<typeof read> | undefined;
  befalls.fault = ({ method, path }) => {
    if (method === "POST" && path.includes("later")) atOrder ??= read();
    return undefined;
  };
  await ground.create(administratorOf(world), later);
  await upToDate(world, first, alpha.size + control.size + later.size);
  const { spec, status } = await atOrder ?? {};
  assert.deepEqual([spec?.enabled, status?.replicas], [false, 0]);
}
