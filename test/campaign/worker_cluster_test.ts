/**
 * Pools are in the worker cluster, profiles and configs in the management cluster: the pools are rolled while the
 * credentials for both clusters change and the management cluster is down.
 */
import assert from "node:assert/strict";
import { fileURLToPath } from "node:url";
import type { ManagementKubeconfigs } from "../../deploy/local/site/ostler_processes.ts";
import { applyManifests, applyObjects } from "../../deploy/local/stack/manifests.ts";
import { kubeconfigFor } from "../../deploy/local/stack/service_account_kubeconfig.ts";
import type { ApiConnection } from "../../deploy/local/stack/api_connection.ts";
import { resolveTools } from "../../deploy/local/tools/resolve_tools.ts";
import { chartObjects } from "../support/chart_objects.ts";
import { type BareApi, withApi } from "../integration/bare_api.ts";
import { proveApproved } from "../integration/asking_nodes.ts";
import { machineDeployment, poolPath, poolsPath, rollTo } from "../integration/pool_objects.ts";
import { judgesInBoth } from "../integration/split_webhook.ts";
import { withWorld } from "../integration/world.ts";
import type { World } from "../integration/world.ts";

const release = { system: "north-system", profiles: "north" };
const configs = "/apis/operatingsystemmanager.k8c.io/v1alpha1/namespaces/north/operatingsystemconfigs";
const accounts = ["ostler-controller", "ostler-worker"] as const;

interface Config {
  metadata: { name: string; annotations: Record<string, string>; ownerReferences?: unknown[] };
}

Deno.test("worker cluster: its pools are rolled with profiles and configs of a management cluster", async (t) => {
  await withApi(async (management) => {
    const kubeconfigs = await installed(management);
    const settings = {
      ...{ OSTLER_CLUSTER: "north", OSTLER_NAMESPACE: release.profiles, OSTLER_SYSTEM_NAMESPACE: release.system },
      // Nodes join the worker cluster, so the controller approves them there.
      OSTLER_APPROVE_JOINING_NODES: "true",
    };
    await withWorld({ seed: 31, settings, management: kubeconfigs, mayRevive: true }, async (world) => {
      await t.step(
        "pools are in the worker cluster, profiles and configs in the management cluster",
        () => publishes(world, management),
      );
      await t.step(
        "machines are replaced while credentials change and while the management cluster is down",
        () => rollsMeanwhile(world, management),
      );
      await t.step("the deletion of a pool deletes its config, and no other config", () => cleansUp(world, management));
      await t.step("the webhook validates for both API servers", () => judgesInBoth(world, management));
    });
  });
});

/**
 * Installs in the management cluster the accounts and permissions of a release of the chart, without Ostler's
 * processes; returns kubeconfigs of these accounts.
 */
async function installed({ kubeconfig, apiServer, directory }: BareApi): Promise<ManagementKubeconfigs> {
  const { helm } = await resolveTools(["helm"]);
  const set = ["workerCluster.kubeconfigSecret.name=north", `settings.namespace=${release.profiles}`];
  const objects = await chartObjects({ helm, namespace: release.system, set });
  const kinds = ["profiles", "configs"].map((kind) => `../../deploy/kubernetes/crds/operating_system_${kind}.yaml`);
  await applyManifests(kubeconfig, kinds.map((path) => fileURLToPath(new URL(path, import.meta.url))));
  const namespaces = Object.values(release).map((name) => ({
    ...{ apiVersion: "v1", kind: "Namespace", metadata: { name } },
  }));
  const rights = objects.filter(({ kind }) => ["ServiceAccount", "Role", "RoleBinding"].includes(kind));
  await applyObjects(kubeconfig, [...namespaces, ...rights]);
  const stack = { directory, apiServer, adminKubeconfig: kubeconfig };
  const [controller = "", worker = ""] = await Promise.all(
    accounts.map((serviceAccount) => kubeconfigFor(stack, { serviceAccount, namespace: release.system })),
  );
  return { controller, worker };
}

async function configsIn(api: ApiConnection): Promise<Config[]> {
  return (await api.call({ method: "GET", path: configs }) as { items: Config[] }).items;
}

async function publishes(world: World, { api }: BareApi): Promise<void> {
  for (const name of ["pool", "other"]) await world.create(poolsPath(), machineDeployment({ name, replicas: 2 }));
  for (const name of ["pool", "other"]) await world.untilPhase(name, "Converged");
  const found = await configsIn(api);
  assert.deepEqual(found.map(({ metadata }) => metadata.name).sort(), [
    "other-kube-system-config",
    "pool-kube-system-config",
  ]);
  const { metadata: { uid } } = await world.get<{ metadata: { uid: string } }>("/api/v1/namespaces/kube-system") ??
    assert.fail("kube-system");
  for (const { metadata: { annotations, ownerReferences } } of found) {
    assert.equal(annotations["ostler.dev/cluster-uid"], uid);
    assert.equal(
      ownerReferences,
      undefined,
      "Expected no owner in another cluster, because garbage collection would delete the config",
    );
  }
  await proveApproved(world);
  const there = await world.get<{ groups: { name: string }[] }>("/apis");
  assert.ok(!there?.groups.some(({ name }) => name === "operatingsystemmanager.k8c.io"));
}

async function rollsMeanwhile(world: World, management: BareApi): Promise<void> {
  const { stack } = world.site;
  await world.observed(2, async () => {
    await world.patch(poolPath("pool"), rollTo("1.36.1"));
    await world.until("a machine under way", async () => (await world.status("pool"))?.underway?.length === 1);
    for (const serviceAccount of accounts) {
      await exchange(world.api, { stack, namespace: "ostler-system", serviceAccount });
    }
    const { directory, apiServer, kubeconfig, api } = management;
    const there = { directory, apiServer, adminKubeconfig: kubeconfig };
    for (const serviceAccount of accounts) {
      await exchange(api, { stack: there, namespace: release.system, serviceAccount });
    }
    const server = management.processes.get("kube-apiserver");
    await server.stop();
    // Longer than a lease lasts without renewal.
    await new Promise((resolve) => setTimeout(resolve, 12_000));
    await server.start();
    await world.untilPhase("pool", "Converged");
  });
  const status = await world.status("pool");
  assert.equal(status?.failedMachines ?? 0, 0);
}

/**
 * Revokes all tokens of an account, and writes a new token into the kubeconfig: for a moment the API server refuses the
 * token that the kubeconfig has.
 */
async function exchange(
  api: ApiConnection,
  { stack, namespace, serviceAccount: name }: {
    stack: Parameters<typeof kubeconfigFor>[0];
    namespace: string;
    serviceAccount: string;
  },
): Promise<void> {
  const path = `/api/v1/namespaces/${namespace}/serviceaccounts`;
  await api.call({ method: "DELETE", path: `${path}/${name}` });
  await api.call({ method: "POST", path, body: { metadata: { name } } });
  await kubeconfigFor(stack, { namespace, serviceAccount: name });
}

/**
 * Stops the worker cluster's API server for a while; the controller keeps running, because its Lease is in the
 * management cluster.
 */
async function awayFor({ site: { stack, ostler } }: World, ms: number): Promise<void> {
  const { pid } = ostler.controller;
  const server = stack.processes.get("kube-apiserver");
  await server.stop();
  await new Promise((resolve) => setTimeout(resolve, ms));
  await server.start();
  assert.equal(ostler.controller.pid, pid);
}

async function cleansUp(world: World, { api }: BareApi): Promise<void> {
  const path = `${configs}/other-kube-system-config`;
  const body = { metadata: { annotations: { "ostler.dev/cluster-uid": "of-another-cluster" } } };
  await api.call({ method: "PATCH", path, body, contentType: "application/merge-patch+json" });
  await awayFor(world, 8_000);
  assert.equal((await configsIn(api)).length, 2, "Expected a missing API not to count as a deleted object");
  for (const name of ["pool", "other"]) await world.remove(poolPath(name));
  for (const name of ["pool", "other"]) {
    await world.until(`the end of "${name}"`, async () => await world.get(poolPath(name)) === undefined);
  }
  assert.deepEqual((await configsIn(api)).map(({ metadata }) => metadata.name), ["other-kube-system-config"]);
}
