/**
 * A control plane that really boots: Ostler's orders, each of them a pod on the node, upgrade it with kubeadm from one
 * minor version of Kubernetes to the next.
 */
import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { ApplicationFailure } from "@temporalio/common";
import { type Cluster, openCluster } from "../../activities/cluster.ts";
import { connectKube, loadKubeConfig } from "../../activities/kube/client.ts";
import { HttpsWatch } from "../../activities/kube/https_watch.ts";
import { componentsKey, upgradeDigestOf } from "../../activities/kubernetes/components.ts";
import { awaitCertificatesRenewed } from "../../activities/kubernetes/healthy.ts";
import { awaitRenewalOrdered, awaitUpgradeOrdered } from "../../activities/kubernetes/order_upgrade.ts";
import { renewalHandOf, upgradeNameOf } from "../../activities/kubernetes/upgrade_hand.ts";
import { kinds } from "../../deploy/local/cloud/groups/group_ground.ts";
import { machinesFolder } from "../../deploy/local/demo/ground.ts";
import type { ContainerHost } from "../../deploy/local/machines/container_host.ts";
import { handsImage } from "../../deploy/local/machines/ostree/hands_image.ts";
import { ApiConnection } from "../../deploy/local/stack/api_connection.ts";
import { waitUntil } from "../../deploy/local/process/wait_until.ts";
import { applyManifests } from "../../deploy/local/stack/manifests.ts";
import { kubeconfigFor } from "../../deploy/local/stack/service_account_kubeconfig.ts";
import { plainFolder } from "../../deploy/release/chart/plain_manifests.ts";
import { readServed, type Validity } from "../../activities/x509/served_certificate.ts";
import type { RenewalOrder, UpgradeOrder, UpgradeOutcome } from "../../workflows/contracts/mod.ts";
import { machineTest, mayInstall, openHost } from "../machines/real_machines.ts";
import { inActivity } from "../support/activity_context.ts";
import { componentImages } from "../support/kubeadm/component_images.ts";
import { componentList } from "../support/kubeadm/component_list.ts";
import { ControlPlanes } from "../support/kubeadm/control_planes.ts";
import {
  controlPlanePrograms,
  kubernetesVersion,
  previousPrograms,
  previousVersion,
} from "../support/kubeadm/programs.ts";
import { control } from "./control_plane_world.ts";

machineTest("control planes: orders upgrade Kubernetes on one, and repeated orders do nothing", async (t) => {
  await withControlPlane(async (scene) => {
    await runs(scene, previousVersion, previousVersion);
    const steps: [string, () => Promise<void>][] = [
      ["Fetch refuses a download whose hash is not the expected one", () => refusesOtherContent(scene)],
      ["Plan and Fetch do not change the running components", async () => {
        await done(scene, "Plan", "Fetch");
        await runs(scene, previousVersion, previousVersion);
      }],
      [
        "Apply upgrades the control plane's components, even if the API server stops and Apply's own pod is deleted",
        async () => {
          await Promise.all([done(scene, "Apply"), losesPod(scene, "Apply")]);
          await done(scene, "Apply");
          await runs(scene, kubernetesVersion, previousVersion);
        },
      ],
      ["a kubelet that does not come up is replaced by the previous one", () => restoresKubelet(scene)],
      ["the order Kubelet replaces the kubelet by the new version", async () => {
        await done(scene, "Kubelet", "Kubelet", "Node", "Fetch");
        await runs(scene, kubernetesVersion, kubernetesVersion);
      }],
      [
        "Renew replaces the served certificates, even if the API server stops and Renew's own pod is deleted",
        () => renewsCertificates(scene),
      ],
    ];
    for (const [name, step] of steps) {
      assert.ok(await t.step(name, step), `Failed to continue after this step: ${name}`);
    }
  });
});

/**
 * The part of Ostler's manifests that an order needs; the previous version of Kubernetes lacks API groups that Ostler's
 * other manifests need.
 */
const manifests = [
  ...["namespace", "crds/node_versions", "rbac/worker"],
  ...["namespace", "limit_hands", "rbac", "image", "scripts"].map((name) => `hands/${name}`),
];

interface Scene {
  admin: ApiConnection;
  /** Clients with the worker's permissions. */
  kube: Cluster;
  image: string;
  order: UpgradeOrder;
}

/**
 * Starts one control plane of the previous version, applies the manifests that orders need, calls `story`, and deletes
 * everything afterwards.
 */
async function withControlPlane(story: (scene: Scene) => Promise<void>): Promise<void> {
  const [programs, previous] = [await controlPlanePrograms(), await previousPrograms()];
  const folder = join(machinesFolder(), "control-plane");
  const directory = await mkdtemp(join(tmpdir(), "ostler-upgrade-"));
  try {
    const engine = { install: mayInstall, directory: join(machinesFolder(), "docker") };
    const hands = await handsImage({ folder: join(directory, "hands"), workFolder: machinesFolder(), engine });
    const layouts = [
      ...await componentImages(folder, programs),
      ...await componentImages(`${folder}-${previousVersion}`, previous, previousVersion),
      hands.layout,
    ];
    const host = await openHost(() => {}, layouts, { kubeadm: programs.kubeadm, "kubeadm-1.35": previous.kubeadm });
    try {
      await host.addBuild(control.template.image);
      await using ground = await ControlPlanes.begin({ host, directory, group: control, version: previousVersion });
      const image = `${new URL(host.mirror.url).host}/${hands.reference}`;
      const scene = await sceneOf({ ground, host, directory, image });
      using _admin = scene.admin;
      await story(scene);
    } finally {
      await host.stop();
    }
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

async function sceneOf(
  { ground, host, directory, image }: { ground: ControlPlanes; host: ContainerHost; directory: string; image: string },
): Promise<Scene> {
  const { apiServer, adminKubeconfig } = ground.cluster;
  await applyManifests(adminKubeconfig, manifests.map((name) => join(plainFolder, `${name}.yaml`)));
  const admin = await ApiConnection.open(adminKubeconfig);
  const maps = "/api/v1/namespaces/kube-system/configmaps";
  const downloads = `${new URL(host.mirror.url).origin}/`;
  await admin.call({
    ...{ method: "PATCH", path: "/api/v1/namespaces/ostler-hands/configmaps/ostler-hands-image" },
    ...{ contentType: "application/merge-patch+json", body: { data: { image, downloads } } },
  });
  const list = await componentList(host);
  await admin.call({
    method: "POST",
    path: maps,
    body: { metadata: { name: "next" }, data: { [componentsKey]: list } },
  });
  const spec = { kubernetesComponentsReference: "next", kubernetesClusterVersion: kubernetesVersion };
  const version = {
    apiVersion: "update.edgeless.systems/v1alpha1",
    kind: "NodeVersion",
    metadata: { name: "version" },
  };
  await admin.call({ method: "POST", path: `${kinds}/nodeversions`, body: { ...version, spec } });
  const account = { serviceAccount: "ostler-worker", namespace: "ostler-system" };
  const config = loadKubeConfig(await kubeconfigFor({ directory, apiServer, adminKubeconfig }, account));
  const kube = openCluster({ ...connectKube(config), watch: new HttpsWatch(config) });
  const node = await theNode(admin);
  const order: UpgradeOrder = {
    ...{ object: { name: "version" }, node: node.metadata.name, uid: node.metadata.uid, verb: "Plan", token: "t-1" },
    ...{ version: kubernetesVersion, digest: upgradeDigestOf(kubernetesVersion, list), until: 0 },
  };
  return { admin, kube, image, order };
}

interface NodeFacts {
  metadata: { name: string; uid: string };
  status: { nodeInfo: { kubeletVersion: string }; addresses: { type: string; address: string }[] };
}

async function theNode(admin: ApiConnection): Promise<NodeFacts> {
  const { items: [node] } = await admin.call({ method: "GET", path: "/api/v1/nodes" }) as { items: NodeFacts[] };
  assert.ok(node, "the node is missing");
  return node;
}

/** Resolves when API server and kubelet have these versions. */
async function runs({ admin }: Scene, apiServer: string, kubelet: string): Promise<void> {
  await waitUntil(async () => {
    const { gitVersion } = await admin.call({ method: "GET", path: "/version" }) as { gitVersion: string };
    assert.deepEqual([gitVersion, (await theNode(admin)).status.nodeInfo.kubeletVersion], [apiServer, kubelet]);
  }, { what: `API server ${apiServer} and kubelet ${kubelet}`, timeoutMs: 60_000 });
}

/** Gives an order, and retries it, as a workflow does, while the only API server is being replaced. */
function give({ kube, image, order }: Scene, more: Partial<UpgradeOrder>): Promise<UpgradeOutcome> {
  return retried((until) => awaitUpgradeOrdered({ kube, image }, { ...order, until, ...more }));
}

async function retried<T>(step: (until: number) => Promise<T>): Promise<T> {
  const until = Date.now() + 900_000;
  for (;;) {
    try {
      return await inActivity(() => step(until));
    } catch (error) {
      const isAway = error instanceof ApplicationFailure && !error.nonRetryable && Date.now() < until;
      if (!isAway) throw error;
      await pause(2_000);
    }
  }
}

async function done(scene: Scene, ...verbs: UpgradeOrder["verb"][]): Promise<void> {
  for (const verb of verbs) {
    const outcome = await give(scene, { verb });
    assert.equal(outcome.outcome, "Done", `${verb}: ${JSON.stringify(outcome)}`);
  }
}

/** Deletes the pod of an order as soon as it runs, as an eviction would. */
function losesPod({ admin, order }: Scene, verb: UpgradeOrder["verb"]): Promise<void> {
  return losesHand(admin, upgradeNameOf({ ...order, verb }));
}

async function losesHand(admin: ApiConnection, name: string): Promise<void> {
  const path = `/api/v1/namespaces/ostler-hands/pods/${name}`;
  await waitUntil(async () => {
    const { status } = await admin.call({ method: "GET", path }) as { status: { phase: string } };
    assert.equal(status.phase, "Running");
  }, { what: "the hand to run", timeoutMs: 60_000 });
  await pause(5_000);
  await admin.call({ method: "DELETE", path });
}

async function renewsCertificates(scene: Scene): Promise<void> {
  const { kube, image, order: { verb: _, digest: __, ...order } } = scene;
  const before = await served(scene);
  const renewal = (token: string): RenewalOrder => ({ ...order, token });
  const renew = async (token: string): Promise<void> => {
    const outcome = await retried((until) => awaitRenewalOrdered({ kube, image }, { ...renewal(token), until }));
    assert.equal(outcome.outcome, "Done", JSON.stringify(outcome));
  };
  await Promise.all([renew("t-1"), losesHand(scene.admin, renewalHandOf(renewal("t-1")).name)]);
  const health = await retried((until) => awaitCertificatesRenewed(kube, { ...order, until }));
  assert.ok("isHealthy" in health && health.isHealthy, JSON.stringify(health));
  const after = await served(scene);
  assert.deepEqual(after.map(({ until }, nth) => until > (before[nth]?.until ?? 0)), [true, true]);
  const pods = await staticPods(scene);
  assert.deepEqual(pods.map(({ renewed }) => /^[0-9]{10}$/.test(renewed)), [true, true, true, true]);
  // A repeated renewal with another token finds everything done, and restarts nothing.
  await renew("t-2");
  assert.deepEqual([await served(scene), await staticPods(scene)], [after, pods]);
}

/** The certificates that API server and etcd show. */
async function served({ admin }: Scene): Promise<Validity[]> {
  const { status: { addresses } } = await theNode(admin);
  const host = addresses.find(({ type }) => type === "InternalIP")?.address ?? "";
  const shown = await Promise.all([6443, 2379].map((port) => readServed({ host, port })));
  return shown.map((each) => {
    if ("unknown" in each) throw new Error(`Failed to read a certificate: ${each.unknown}`);
    return each;
  });
}

async function staticPods({ admin }: Scene): Promise<{ name: string; uid: string; renewed: string }[]> {
  interface Pods {
    items: { metadata: { name: string; uid: string; annotations?: Record<string, string> } }[];
  }
  const path = "/api/v1/namespaces/kube-system/pods?labelSelector=tier%3Dcontrol-plane";
  const { items } = await admin.call({ method: "GET", path }) as Pods;
  return items.map(({ metadata: { name, uid, annotations } }) => ({
    name,
    uid,
    renewed: annotations?.["ostler.dev/certificates-renewed"] ?? "",
  }));
}

/**
 * Expects an order to be refused when a download does not have the hash in the ConfigMap; the test changes the hash
 * instead of the server's content.
 */
async function refusesOtherContent(scene: Scene): Promise<void> {
  await withOtherComponents(
    scene,
    ([kubeadm, kubelet]) => [{ ...kubeadm, hash: `sha256:${"0".repeat(64)}` }, kubelet],
    {
      orders: async (digest) => {
        const outcome = await give(scene, { verb: "Fetch", digest });
        assert.equal(outcome.outcome === "Refused" && outcome.reason, "HashMismatch", JSON.stringify(outcome));
      },
    },
  );
}

/**
 * Expects the previous kubelet to be restored when the list of components installs, in place of the new kubelet, a
 * program that ends immediately.
 */
async function restoresKubelet(scene: Scene): Promise<void> {
  await withOtherComponents(scene, ([kubeadm, kubelet]) => [
    kubeadm,
    { ...kubeadm, installPath: kubelet?.["installPath"] },
  ], {
    orders: async (digest) => {
      const fetched = await give(scene, { verb: "Fetch", digest });
      assert.equal(fetched.outcome, "Refused", JSON.stringify(fetched));
      const outcome = await give(scene, { verb: "Kubelet", digest });
      assert.equal(outcome.outcome === "Refused" && outcome.reason, "KubeletFailed", JSON.stringify(outcome));
      assert.match(outcome.message, /did not come up in 90 s: .*the previous kubelet runs again$/);
      await runs(scene, kubernetesVersion, previousVersion);
    },
  });
}

type Entry = Record<string, unknown> | undefined;

/**
 * Changes the list of components in the ConfigMap, calls `orders` with the digest of the changed list, and restores the
 * original list.
 */
async function withOtherComponents(
  { admin }: Scene,
  change: (list: Entry[]) => Entry[],
  { orders }: { orders: (digest: string) => Promise<void> },
): Promise<void> {
  const path = "/api/v1/namespaces/kube-system/configmaps/next";
  const { data } = await admin.call({ method: "GET", path }) as { data: Record<string, string> };
  const list = data[componentsKey] ?? "";
  const write = (text: string): Promise<unknown> =>
    admin.call({
      ...{ method: "PATCH", path, contentType: "application/merge-patch+json" },
      body: { data: { [componentsKey]: text } },
    });
  const other = JSON.stringify(change(JSON.parse(list)));
  await write(other);
  await orders(upgradeDigestOf(kubernetesVersion, other));
  await write(list);
}
