/**
 * Publications on a real API server: they equal recorded bytes of Operating System Manager, their credentials are
 * renewed, and none remains when the pool is deleted.
 */
import assert from "node:assert/strict";
import { casIn } from "../../activities/status/ca_bundle.ts";
import { annotationsHash } from "../../profiles/mod.ts";
import { expectedConfig, expectedText, getterToken, osmCase } from "../support/osm_vectors.ts";
import { goProfileOf } from "./go_profile.ts";
import { machineDeployment, poolPath, poolsPath, secretPath } from "./pool_objects.ts";
import { testInWorld } from "./shared_world.ts";
import type { World } from "./world.ts";

interface Published {
  metadata: { name: string; uid: string; annotations?: Record<string, string> };
  spec?: Record<string, unknown>;
  data?: Record<string, string>;
}

const osm = "/apis/operatingsystemmanager.k8c.io/v1alpha1/namespaces/kube-system";
const machines = "/apis/cluster.k8s.io/v1alpha1/namespaces/kube-system/machines";
const clusterInfo = "/api/v1/namespaces/kube-public/configmaps/cluster-info";
const tokens = "/api/v1/namespaces/kube-system/secrets";
const recordedToken = "aaaaaa.bbbbbbbbbbbbbbbb";

testInWorld(
  "publishConfig: publishes recorded bytes of Operating System Manager, and renews credentials, on a real API server",
  { seed: 11 },
  async (world, t) => {
    await world.create(poolsPath(), machineDeployment({ replicas: 2 }));
    await world.untilPhase("pool", "Converged");
    await untilNoRun(world);
    await t.step("a Schedule renews credentials and touches no machine", () => renews(world));
    await t.step(
      "a profile of Go templates with the same output as the pool's Eta profile changes no machine",
      () => switches(world),
    );
    await t.step(
      "a Go template renders the user-data that Operating System Manager rendered, while two other bootstrap tokens have the pool's label",
      () => matches(world),
    );
    await t.step(
      "a new API address and a new CA are written into the kubeconfig, and the Rollout has the previous and the new CA bundle",
      () => {
        return moves(world);
      },
    );
    await t.step("the deletion of a pool removes all objects that Ostler created for it", () => deletes(world));
  },
);

// Waits until no run is open: until then the run of a converged pool may write the Rollout's status, and overwrite what
// this test writes.
async function untilNoRun(world: World): Promise<void> {
  const handle = world.temporal.workflow.getHandle("machine-deployment/kube-system/pool");
  await world.until("the end of the run", async () => (await handle.describe()).status.name !== "RUNNING");
}

async function machineUids(world: World): Promise<string[]> {
  return (await world.list<Published>(machines)).map(({ metadata }) => metadata.uid).sort();
}

async function text(world: World, secret: string, key: string): Promise<string> {
  return atob((await world.get<Published>(secretPath(secret)))?.data?.[key] ?? "");
}

async function renews(world: World): Promise<void> {
  const handle = world.temporal.schedule.getHandle("renew-credentials");
  const { spec, state } = await handle.describe();
  assert.equal(spec.intervals?.[0]?.every, 3_600_000);
  assert.match(state.note ?? "", /Renews the credentials/);
  const before = await world.status("pool");
  const uids = await machineUids(world);
  const due = "2020-01-01T00:00:00Z";
  const annotations = { "ostler.dev/credentials-renew": due };
  for (const secret of ["pool-kube-system-bootstrap-config", "kube-system-pool-kubelet-bootstrap-config"]) {
    await world.patch(secretPath(secret), { metadata: { annotations } });
  }
  await world.patch(`${rolloutPath("pool")}/status`, { status: { credentials: { renewAt: due } } });
  await handle.trigger();
  const renewed = await world.until("fresh credentials", async () => {
    const now = await world.status("pool");
    return Date.parse(now?.credentials?.renewAt ?? "") > Date.now() && now?.phase === "Converged" && now;
  });
  await untilNoRun(world);
  assert.notEqual(renewed.credentials?.expiresAt, before?.credentials?.expiresAt);
  assert.deepEqual(await machineUids(world), uids);
  assert.equal(renewed.history?.length, 1, "Expected no rollout for a renewal");
}

function rolloutPath(name: string): string {
  return `/apis/ostler.dev/v1alpha1/namespaces/kube-system/rollouts/${name}`;
}

async function switches(world: World): Promise<void> {
  const config = await world.get<Published>(`${osm}/operatingsystemconfigs/pool-kube-system-config`);
  const uids = await machineUids(world);
  const digest = config?.metadata.annotations?.["ostler.dev/config-digest"];
  const version = config?.metadata.annotations?.["k8c.io/osp-version"] ?? "";
  await world.create(`${osm}/operatingsystemprofiles`, goProfileOf("osp-go", "v7.7.7", config?.spec ?? {}));
  for (const [profile, expected] of [["osp-go", "v7.7.7"], ["osp-ubuntu", version]] as const) {
    const before = (await world.status("pool"))?.credentials;
    const annotations = { "k8c.io/operating-system-profile": profile };
    await world.patch(poolPath("pool"), { metadata: { annotations } });
    const published = await world.until(`profile "${profile}" published`, async () => {
      const now = await world.get<Published>(`${osm}/operatingsystemconfigs/pool-kube-system-config`);
      return now?.metadata.annotations?.["k8c.io/osp-version"] === expected && now;
    });
    await world.untilPhase("pool", "Converged");
    assert.equal(published.metadata.annotations?.["ostler.dev/config-digest"], digest);
    assert.deepEqual(published.spec, config?.spec);
    assert.deepEqual((await world.status("pool"))?.credentials, before);
    assert.deepEqual(await machineUids(world), uids);
  }
}

const vector = osmCase("fields-default");
const { name } = vector.deployment.metadata;

async function matches(world: World): Promise<void> {
  await announce(world, "https://api.vectors.example:6443");
  for (const id of ["aaaaaa", "cccccc"]) await world.create(tokens, foreignToken(id));
  const profile = vector.profile as object;
  await world.create(`${osm}/operatingsystemprofiles`, profile);
  const { spec, ...rest } = vector.deployment as { spec: Record<string, unknown> };
  await world.create(poolsPath(), { ...rest, spec: { ...spec, replicas: 0 } });
  await world.untilPhase(name, "Converged");
  const kubeconfig = await text(world, `kube-system-${name}-kubelet-bootstrap-config`, "kubeconfig");
  const [, joinToken = ""] = /^ {4}token: (.+)$/m.exec(kubeconfig) ?? [];
  assert.match(joinToken, /^[a-z0-9]{6}\.[a-z0-9]{16}$/);
  assert.equal(kubeconfig, expectedText(vector, "kubeconfig")?.replace(recordedToken, joinToken));
  await compareUserData(world, joinToken);
  const config = await world.get<Published>(`${osm}/operatingsystemconfigs/${name}-kube-system-config`);
  const pool = await world.get<Published>(poolPath(name));
  const stamps = Object.entries(config?.metadata.annotations ?? {}).filter(([key]) => key.startsWith("k8c.io/"));
  assert.deepEqual(Object.fromEntries(stamps), {
    ...expectedConfig(vector)?.annotations,
    "k8c.io/mdannotations-hash": annotationsHash(pool?.metadata.annotations ?? {}),
  });
}

async function compareUserData(world: World, joinToken: string): Promise<void> {
  const provisioning = await text(world, `${name}-kube-system-provisioning-config`, "cloud-config");
  const [, token = ""] = /^ {4}Token: \[(.+)\]$/m.exec(provisioning) ?? [];
  assert.match(token, /^eyJ/);
  const substituted = (recorded: string): string =>
    recorded.replaceAll(recordedToken, joinToken).replaceAll(getterToken, token);
  assert.equal(provisioning, substituted(expectedText(vector, "provisioning") ?? ""));
  const bootstrap = await text(world, `${name}-kube-system-bootstrap-config`, "cloud-config");
  const recorded = (expectedText(vector, "bootstrap") ?? "")
    .replace(/(?<=^ {4})[A-Za-z0-9+/=]{100,}$/m, (encoded) => btoa(substituted(atob(encoded))));
  assert.equal(bootstrap, recorded);
}

const nextCa = `-----BEGIN CERTIFICATE-----\n${btoa("the next CA")}\n-----END CERTIFICATE-----\n`;

async function announce(world: World, server: string, more = ""): Promise<void> {
  const recorded = /certificate-authority-data: (\S+)/.exec(expectedText(vector, "kubeconfig") ?? "")?.[1] ?? "";
  const ca = btoa(`${atob(recorded)}${more}`);
  const cluster = `{server: "${server}", certificate-authority-data: ${ca}}`;
  const kubeconfig = `apiVersion: v1\nkind: Config\nclusters: [{name: "", cluster: ${cluster}}]\n`;
  await world.patch(clusterInfo, { data: { kubeconfig } });
}

function foreignToken(id: string): object {
  return {
    apiVersion: "v1",
    kind: "Secret",
    type: "bootstrap.kubernetes.io/token",
    metadata: {
      ...{ name: `bootstrap-token-${id}`, namespace: "kube-system" },
      labels: { "machinedeployment.k8s.io/name": `kube-system-${name}` },
    },
    stringData: { "token-id": id, "token-secret": "bbbbbbbbbbbbbbbb", expiration: "2099-01-01T00:00:00Z" },
  };
}

async function moves(world: World): Promise<void> {
  await announce(world, "https://moved.vectors.example:6443", nextCa);
  await world.temporal.workflow.signalWithStart("rollOutMachineDeployment", {
    workflowId: `machine-deployment/kube-system/${name}`,
    taskQueue: "ostler",
    args: [{ namespace: "kube-system", name }],
    signal: "desiredChanged",
    signalArgs: [{}],
  });
  await world.until("the new address", async () => {
    const kubeconfig = await text(world, `kube-system-${name}-kubelet-bootstrap-config`, "kubeconfig");
    return kubeconfig.includes("server: https://moved.vectors.example:6443\n");
  });
  const { caBundles = [] } = await world.until("both bundles", async () => {
    const status = await world.status(name);
    return status?.caBundles?.length === 2 ? status : undefined;
  });
  const [before, after] = caBundles.map(({ cas }) => cas);
  assert.deepEqual(after?.filter((ca) => !before?.includes(ca)), casIn(nextCa));
  assert.deepEqual([after?.length, caBundles.map(({ since }) => typeof since)], [2, ["undefined", "string"]]);
}

async function deletes(world: World): Promise<void> {
  await world.remove(poolPath(name));
  await world.until("the pool to go", async () => (await world.get(poolPath(name))) === undefined);
  const places = [
    ...["secrets", "configmaps", "serviceaccounts"].map((kind) => `/api/v1/namespaces/cloud-init-settings/${kind}`),
    ...["roles", "rolebindings"].map((kind) =>
      `/apis/rbac.authorization.k8s.io/v1/namespaces/cloud-init-settings/${kind}`
    ),
    `${osm}/operatingsystemconfigs`,
  ];
  const lists = await Promise.all(places.map((place) => world.list<Published>(place)));
  const left = lists.flat().map(({ metadata }) => metadata.name).filter((each) => each.includes(name));
  assert.deepEqual(left, []);
  const labelled = `${tokens}?labelSelector=machinedeployment.k8s.io/name=kube-system-${name}`;
  assert.deepEqual(await world.list(labelled), []);
}
