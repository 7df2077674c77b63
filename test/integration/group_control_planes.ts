/**
 * Control planes beside workers. What comes with their own rollouts: K27 (a member of etcd that is not well), JN4 (a second
 * control plane that joins at a time), and U1 to U8 (which versions of Kubernetes follow which).
 */
import assert from "node:assert/strict";
import type { GroupSpec } from "../../deploy/local/cloud/groups/group_cloud.ts";
import { alpha, type GroupStory, type Scene, strategies, upToDate } from "./group_scene.ts";
import { administratorOf, conditionOf, first, runsOf } from "./group_world.ts";

export const control: GroupSpec = {
  ...{ ...alpha, id: "projects/p/groups/control", name: "control", autoscalerName: "control" },
  ...{ role: "ControlPlane", size: 1, max: 3 },
};

export const controlPlaneStories: GroupStory[] = [
  ["K23 control planes have other components: workers wait, and take up an image alone", workersWait],
  ["K24 a group that comes once all is done takes nothing up before the autoscaler is off", cameLater],
];

async function workersWait({ world, ground }: Scene): Promise<void> {
  const known = ground.cloud.instances().length;
  await ground.ask(administratorOf(world), { ...first, components: "components-2" });
  await world.until("the stage to be refused", async () => {
    return (await conditionOf(world, "Ready")).reason === "ControlPlaneRefused";
  });
  await new Promise((done) => setTimeout(done, 3_000));
  assert.equal(ground.cloud.instances().length, known, "no kubelet is newer than its API server");
  await ground.ask(administratorOf(world), { ...first, image: "image-23" });
  await world.until("the workers to run another image, and nobody else", async () => {
    const runs = (await runsOf(world)).sort();
    return runs.join() === [`image-1 ${first.components}`, ...Array(3).fill(`image-23 ${first.components}`)].join();
  });
  assert.equal(ground.cloud.instances(control.id).length, control.size);
  await ground.ask(administratorOf(world), first);
  await upToDate(world, first, alpha.size + control.size);
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
