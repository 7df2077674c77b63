/** NodeVersions of several groups: changed components, an image that does not boot, control planes beside workers. */
import assert from "node:assert/strict";
import type { GroupSpec } from "../../deploy/local/cloud/groups/group_cloud.ts";
import { first } from "../../deploy/local/cloud/groups/group_ground.ts";
import { badImage, components, meddled } from "../support/group_everyday.ts";
import { alpha, beta, conditionOf, control, strategies, upToDate } from "../support/group_story.ts";
import { type SiteScene, type SiteStory, tellOnSites } from "../support/group_site_scene.ts";
import { ask } from "../support/group_steps.ts";
import { onStage, type Stage } from "../support/workflow_stage.ts";

const test = onStage();

const ofTwo: SiteStory[] = [
  [
    "K2, K14 an image that does not boot halts one group, and is rolled back in the other by its policy; both groups get the next image",
    badImage,
  ],
  [
    "K11, K17 another controller deletes a new machine and its record, and sets another template: all is corrected",
    meddled,
  ],
  ["F2 the Kubernetes components and the image change: every machine is replaced once", components],
];

const tellOfTwo = (stage: Stage, t: Deno.TestContext): Promise<void> =>
  tellOnSites({ stage, t }, { cast: [[alpha, 2], [beta, 0]], stories: ofTwo });

test("scaling groups: two are rolled as their NodeVersion defines", tellOfTwo, ofTwo.length);

/**
 * Ostler has no access to this cluster's etcd; `campaign/control_plane_members_test.ts` tests replacements of control
 * planes with access, and `upgrade_kubernetes_test.ts` tests upgrades of Kubernetes.
 */
const besideControlPlanes: SiteStory[] = [
  [
    "K23 control planes run other Kubernetes components than desired: their replacement is refused, and workers wait",
    componentsWait,
  ],
  [
    "K23 control planes run another image than desired: they must be replaced first, and no worker is replaced before",
    imageWaits,
  ],
  ["K24 a group is added after the rollout: it orders no machine before the autoscaler is off", cameLater],
];

const tellBesideControlPlanes = (stage: Stage, t: Deno.TestContext): Promise<void> =>
  tellOnSites({ stage, t }, { cast: [[alpha, 1], [control, 0]], stories: besideControlPlanes });

test(
  "scaling groups: workers are rolled only as far as the control planes allow",
  tellBesideControlPlanes,
  besideControlPlanes.length,
);

async function componentsWait({ world, ground, idle }: SiteScene): Promise<void> {
  const known = ground.cloud.instances().length;
  await ground.ask(world, { ...first, components: "components-2" });
  await readyFor(world, "ControlPlaneRefused");
  await idle();
  assert.equal(ground.cloud.instances().length, known, "Expected no kubelet newer than its API server");
  await ground.ask(world, first);
  await upToDate(world, first, alpha.size + control.size);
}

async function imageWaits(scene: SiteScene): Promise<void> {
  const { world, ground, idle } = scene;
  const known = ground.cloud.instances().length;
  await ask(scene, "image-23");
  await controlPlanesWait(world);
  await idle();
  assert.equal(ground.cloud.instances().length, known, "Expected no worker to begin before control planes are done");
  await ground.ask(world, first);
  await upToDate(world, first, alpha.size + control.size);
}

/**
 * Ostler has no access to etcd here, so no control plane is touched; with access they are replaced in
 * `campaign/control_plane_members_test.ts`.
 */
async function controlPlanesWait(world: SiteScene["world"]): Promise<void> {
  const { message } = await readyFor(world, "GroupHalted");
  assert.match(
    message,
    /"control" waits: EtcdInDoubt: Failed to reach etcd with Secret "kube-system\/ostler-etcd": the Secret does not exist/,
  );
}

async function readyFor(world: SiteScene["world"], reason: string): Promise<{ message: string }> {
  await world.until(`the NodeVersion to report ${reason}`, async () => {
    return (await conditionOf(world, "Ready")).reason === reason;
  });
  return await conditionOf(world, "Ready");
}

async function cameLater({ world, ground, befalls }: SiteScene): Promise<void> {
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
  await world.until("the autoscaler to be on", async () => (await read())?.spec.enabled === true);
  let atOrder: ReturnType<typeof read> | undefined;
  befalls.fault = ({ method, path }) => {
    if (method === "POST" && path.includes("later")) atOrder ??= read();
    return undefined;
  };
  await ground.create(world, later);
  await upToDate(world, first, alpha.size + control.size + later.size);
  const { spec, status } = await atOrder ?? {};
  assert.deepEqual([spec?.enabled, status?.replicas], [false, 0]);
}
