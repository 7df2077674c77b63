import { deepEqual, equal, match, notEqual, ok } from "node:assert/strict";
import { publishConfig } from "../../../../activities/config/publish_config.ts";
import { renewResting } from "../../../../activities/config/renew_resting.ts";
import { readDesired } from "../../../../activities/pool/read_desired.ts";
import { closeTemplateEngines, type NodeSettings } from "../../../../profiles/mod.ts";
import type { Rest, RestRenewal } from "../../../../workflows/contracts/mod.ts";
import { inActivity } from "../../../support/activity_context.ts";
import { answer } from "../../../support/fake_kube.ts";
import type { FakeKube } from "../../../support/fake_kube.ts";
import { clusterInfo, machineDeployment, pool, revisionKey } from "../../../support/machine_objects.ts";
import {
  accountToken,
  makeDue,
  publisher,
  publishingKube,
  putProfile,
  textOf,
} from "../../../support/publishing_kube.ts";

const provisioning = "pool-fleet-provisioning-config";
const kubeconfig = "fleet-pool-kubelet-bootstrap-config";
const bootstrap = "pool-fleet-bootstrap-config";
const secrets = [provisioning, kubeconfig, bootstrap];
const registry = { nodeRegistryCredentialsSecret: "kube-system/reg" };

Deno.test.afterAll(() => closeTemplateEngines());

interface Resting {
  kube: FakeKube;
  rest: Rest;
  /** Requests since the last reset. */
  requests: string[];
}

/** A converged pool with due credentials. */
async function resting(kube: FakeKube, settings: Partial<NodeSettings> = registry): Promise<Resting> {
  putPassword(kube, "first");
  const seen = await readDesired(publisher(kube, settings), pool);
  if (seen.state !== "Present") throw new Error(`Failed to converge: the pool is ${seen.state}`);
  const { observed, specHash, revision } = seen.desired;
  const { trusted } = await publishConfig(publisher(kube, settings), { pool, revision });
  const caBundles = [{ since: "2026-01-01T00:00:00.000Z", ...trusted }];
  const status = { phase: "Converged", observed, lastGood: { specHash }, caBundles };
  kube.put("rollouts", { metadata: { ...pool }, status });
  for (const name of secrets) makeDue(kube, name);
  kube.token = { token: accountToken("the-next-token"), expirationTimestamp: new Date(Date.now() + 3_600_000) };
  kube.writes.length = 0;
  const requests: string[] = [];
  kube.onRequest = (request) => void requests.push(request);
  return { kube, rest: { observed, specHash }, requests };
}

async function restingPool(): Promise<Resting> {
  const kube = await publishingKube();
  putProfile(kube, {
    bootstrap: "<%= it.token %>",
    provisioning: "kubelet <%= it.kubelet %> <%= it.containerdConfig %>",
  });
  return await resting(kube);
}

function putPassword(kube: FakeKube, password: string): void {
  const stringData = { "quay.example": JSON.stringify({ password }) };
  kube.put("secrets", { metadata: { namespace: "kube-system", name: "reg" }, stringData });
}

function renew({ kube, rest }: Resting): Promise<RestRenewal> {
  return inActivity(() => renewResting(publisher(kube, registry), { pool, rest }));
}

function change(kube: FakeKube, overrides: Parameters<typeof machineDeployment>[0]): void {
  const { metadata } = kube.get("machinedeployments", "pool", "fleet") ?? machineDeployment();
  const { metadata: now, ...rest } = machineDeployment(overrides);
  const { finalizers = [] } = metadata;
  kube.put("machinedeployments", { ...rest, metadata: { ...now, finalizers, generation: 2 } });
}

function stamps(kube: FakeKube, key: string): string[] {
  return secrets.map((name) => kube.get("secrets", name, "cloud-init-settings")?.metadata.annotations?.[key] ?? "");
}

Deno.test("renewResting: renews with ten requests per pool, and writes nothing that is unchanged", async () => {
  const scene = await restingPool();
  const { kube, requests } = scene;
  const before = textOf(kube, provisioning);
  const renewal = await renew(scene);
  equal(renewal.news, "Renewed");
  const [shared, own] = [
    /osp-ubuntu|cluster-info|ostler-seed|\/reg$/,
    requests.filter((each) => !/bootstrap-token/.test(each)),
  ];
  deepEqual(own.filter((request) => !shared.test(request)), [
    "get operatingsystemconfigs kube-system/pool-fleet-config",
    ...secrets.map((name) => `get secrets cloud-init-settings/${name}`),
    "get machinedeployments fleet/pool",
    "token serviceaccounts cloud-init-settings/ostler-pool-fleet",
    ...[kubeconfig, bootstrap].map((name) => `replace secrets cloud-init-settings/${name}`),
    "patch rollouts fleet/pool",
  ]);
  equal(requests.length - own.length, 1, "Expected one new bootstrap token");
  equal(textOf(kube, provisioning), before);
  match(textOf(kube, bootstrap), /the-next-token/);
  const status = kube.get("rollouts", "pool", "fleet")?.["status"] as { credentials: object; phase: string };
  const { news: _, ...life } = renewal;
  deepEqual([status.phase, status.credentials], ["Converged", life]);
});

Deno.test("renewResting: records once the CA bundle of a pool whose last run has not recorded it", async () => {
  const scene = await restingPool();
  const { kube } = scene;
  const bundles = (): unknown[] =>
    (kube.get("rollouts", "pool", "fleet")?.["status"] as { caBundles?: unknown[] }).caBundles ?? [];
  const [before] = bundles() as { since: string; cas: string[] }[];
  const { metadata, status } = kube.get("rollouts", "pool", "fleet") as { metadata: object; status: object };
  kube.put("rollouts", { metadata: { ...pool, ...metadata }, status: { ...status, caBundles: undefined } });
  const begun = new Date().toISOString();
  for (let nth = 0; nth < 2; nth++) await renew(scene);
  const [after, ...rest] = bundles() as { since: string; cas: string[] }[];
  deepEqual([after?.cas, rest], [before?.cas, []]);
  ok((after?.since ?? "") >= begun, "Expected the bundle to begin now, because older machines may lack its CAs");
});

Deno.test("renewResting: renews once, however often it runs, and a publication after that writes nothing", async () => {
  const scene = await restingPool();
  const { kube } = scene;
  const first = await renew(scene);
  kube.writes.length = 0;
  deepEqual(await renew(scene), { ...first, news: "None" });
  deepEqual(kube.writes, ["patch rollouts fleet/pool"]);
  const published = await publishConfig(publisher(kube, registry), { pool, revision: "1" });
  deepEqual([published.news, published.renewAt], ["None", "renewAt" in first ? first.renewAt : ""]);
});

Deno.test("renewResting: renews user-data with credentials at any position", async () => {
  const kube = await publishingKube();
  putProfile(kube, { templating: "go", bootstrap: "{{ .Token }}", provisioning: "{{ .BootstrapKubeconfig }}" });
  const scene = await resting(kube);
  const first = await renew(scene);
  equal(first.news, "Renewed");
  const id = stamps(kube, "ostler.dev/bootstrap-token-id");
  equal(new Set(id).size, 1);
  deepEqual(await renew(scene), { ...first, news: "None" });
  makeDue(kube, provisioning);
  equal((await renew(scene)).news, "Renewed", "Expected a renewal, because the provisioning Secret has a due token");
});

const differences: Record<string, (kube: FakeKube) => void> = {
  "another template": (kube) => change(kube, { annotations: { [revisionKey]: "2" }, kubelet: "1.36.1" }),
  "another profile": (kube) => putProfile(kube, { bootstrap: "other <%= it.token %>", provisioning: "other" }),
  "another registry password": (kube) => putPassword(kube, "second"),
  "another API address": (kube) => {
    const info = clusterInfo();
    const moved = (info["data"] as { kubeconfig: string }).kubeconfig.replace("api.example", "moved.example");
    kube.put("configmaps", { ...info, data: { kubeconfig: moved } });
  },
  "a deleted profile": (kube) => kube.remove("operatingsystemprofiles", "osp-ubuntu", "kube-system"),
  "a profile that fails to render": (kube) => putProfile(kube, { bootstrap: "<% throw new Error() %>" }),
  "a deleted config": (kube) => kube.remove("operatingsystemconfigs", "pool-fleet-config", "kube-system"),
  ...Object.fromEntries(secrets.map((name) => [
    `secret ${name} gone`,
    (kube: FakeKube) => kube.remove("secrets", name, "cloud-init-settings"),
  ])),
};

for (const [what, make] of Object.entries(differences)) {
  Deno.test(`renewResting: writes nothing, and requests a rollout, after ${what}`, async () => {
    const scene = await restingPool();
    make(scene.kube);
    deepEqual(await renew(scene), { news: "RolloutNeeded" });
    deepEqual(scene.kube.writes, []);
  });
}

Deno.test("renewResting: does nothing for a pool that is deleted, being deleted, or not managed any more", async () => {
  const scene = await restingPool();
  const { kube } = scene;
  const deployment = kube.get("machinedeployments", "pool", "fleet") ?? machineDeployment();
  const { metadata } = deployment;
  kube.put("machinedeployments", {
    ...deployment,
    metadata: { ...metadata, deletionTimestamp: "2026-01-01T00:00:00Z" },
  });
  deepEqual(await renew(scene), { news: "Unserved" });
  kube.put("machinedeployments", { metadata: { ...metadata, annotations: {} }, spec: { template: { spec: {} } } });
  deepEqual(await renew(scene), { news: "Unserved" });
  kube.remove("machinedeployments", "pool", "fleet");
  deepEqual(await renew(scene), { news: "Unserved" });
  deepEqual(kube.writes, []);
});

Deno.test("renewResting: requests a rollout for a pool without a Rollout object", async () => {
  const scene = await restingPool();
  scene.kube.remove("rollouts", "pool", "fleet");
  deepEqual(await renew(scene), { news: "RolloutNeeded" });
});

Deno.test("renewResting: restores a deleted identity, and checks an existing one once a day", async () => {
  const scene = await restingPool();
  const { kube } = scene;
  const name = "ostler-pool-fleet";
  for (const plural of ["roles", "rolebindings"]) kube.remove(plural, name, "cloud-init-settings");
  kube.onRequest = (request) => {
    const isGone = kube.get("serviceaccounts", name, "cloud-init-settings") === undefined;
    if (isGone && request.startsWith("token ")) throw answer(404, "NotFound");
  };
  equal((await renew(scene)).news, "Renewed");
  equal(kube.get("roles", name, "cloud-init-settings"), undefined, "Expected no second check within a day");
  for (const secret of secrets) makeDue(kube, secret, 1);
  await renew(scene);
  notEqual(kube.get("roles", name, "cloud-init-settings"), undefined);
  notEqual(kube.get("rolebindings", name, "cloud-init-settings"), undefined);
  for (const plural of ["roles", "serviceaccounts"]) kube.remove(plural, name, "cloud-init-settings");
  for (const secret of secrets) makeDue(kube, secret);
  equal((await renew(scene)).news, "Renewed");
  notEqual(kube.get("serviceaccounts", name, "cloud-init-settings"), undefined);
  notEqual(kube.get("roles", name, "cloud-init-settings"), undefined);
});

/** Renews; before the nth request of that renewal, another revision becomes desired and is published completely. */
async function overtaken(scene: Resting, nth: number): Promise<{ isOver: boolean }> {
  const { kube } = scene;
  const { promise: reached, resolve: reach } = Promise.withResolvers<void>();
  const { promise: resumed, resolve: resume } = Promise.withResolvers<void>();
  let requests = 0;
  kube.onRequest = async () => {
    if (requests++ !== nth) return;
    reach();
    await resumed;
  };
  const late = renew(scene).catch((error: Error) => error);
  const first = await Promise.race([reached, late]);
  if (first !== undefined) return { isOver: true };
  change(kube, { annotations: { [revisionKey]: "3" }, kubelet: "1.36.1" });
  await publishConfig(publisher(kube, registry), { pool, revision: "3" });
  resume();
  await late;
  return { isOver: false };
}

Deno.test("renewResting: never overwrites a newer publication, whichever of its own requests the newer publication precedes", async () => {
  for (let nth = 0;; nth++) {
    const scene = await restingPool();
    const { isOver } = await overtaken(scene, nth);
    if (isOver) {
      ok(nth > 10, `only ${nth} requests`);
      break;
    }
    deepEqual(
      stamps(scene.kube, "k8c.io/machine-deployment-revision"),
      ["3", "3", "3"],
      `Interrupted at request ${nth}`,
    );
    match(textOf(scene.kube, provisioning), /kubelet v1\.36\.1/);
    const [, id] = stamps(scene.kube, "ostler.dev/bootstrap-token-id");
    match(textOf(scene.kube, kubeconfig), new RegExp(`token: ${id}\\.`));
    notEqual(scene.kube.get("secrets", `bootstrap-token-${id}`, "kube-system"), undefined);
  }
});

Deno.test("renewResting: reads the objects that many pools share only once", async () => {
  const scene = await restingPool();
  const { kube, rest, requests } = scene;
  const given = publisher(kube, registry);
  const shared = (): number => requests.filter((each) => /osp-ubuntu|cluster-info|ostler-seed/.test(each)).length;
  await Promise.all([1, 2, 3].map(() => inActivity(() => renewResting(given, { pool, rest })).catch(() => undefined)));
  equal(shared(), 3);
  // The shared facts that the renewals above have read are older than the next publication, so a later renewal reads
  // them again.
  putProfile(kube, { bootstrap: "newer <%= it.token %>", provisioning: "newer" });
  const seen = await readDesired(publisher(kube, registry), pool);
  await publishConfig(publisher(kube, registry), { pool, revision: "1" });
  const newer = seen.state === "Present" ? seen.desired : undefined;
  kube.writes.length = 0;
  const late = { observed: newer?.observed ?? "", specHash: newer?.specHash ?? "" };
  deepEqual(await inActivity(() => renewResting(given, { pool, rest: late })), { news: "RolloutNeeded" });
  deepEqual(kube.writes, []);
});
