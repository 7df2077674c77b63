import { deepEqual, equal, match, notEqual, ok, rejects } from "node:assert/strict";
import { publishConfig } from "../../../../activities/config/publish_config.ts";
import { renderConfig } from "../../../support/rendered.ts";
import { annotationsHash, closeTemplateEngines, type NodeSettings } from "../../../../profiles/mod.ts";
import type { Publication } from "../../../../workflows/contracts/mod.ts";
import { answer, type FakeKube } from "../../../support/fake_kube.ts";
import { clusterInfo, machineDeployment, pool, providerConfig, revisionKey } from "../../../support/machine_objects.ts";
import { makeDue, publisher, publishingKube, putProfile, textOf } from "../../../support/publishing_kube.ts";

const provisioning = "pool-fleet-provisioning-config";
const kubeletBootstrap = "fleet-pool-kubelet-bootstrap-config";
const bootstrap = "pool-fleet-bootstrap-config";
const secrets = [provisioning, kubeletBootstrap, bootstrap];

Deno.test.afterAll(() => closeTemplateEngines());

/** A pool whose templates mention neither credentials nor the API server. */
async function quietKube(): Promise<FakeKube> {
  const kube = await publishingKube();
  putProfile(kube, { bootstrap: "one", provisioning: "kubelet <%= it.kubelet %>" });
  return kube;
}

async function publish(kube: FakeKube, settings: Partial<NodeSettings> = {}): Promise<Publication> {
  const given = publisher(kube, settings);
  const { configDigest } = await renderConfig(given, pool);
  const revision = kube.get("machinedeployments", "pool", "fleet")?.metadata.annotations?.[revisionKey] ?? "";
  return await publishConfig(given, { pool, revision, configDigest });
}

function annotationsOf(kube: FakeKube): Record<string, string>[] {
  const config = kube.get("operatingsystemconfigs", "pool-fleet-config", "kube-system");
  const found = secrets.map((name) => kube.get("secrets", name, "cloud-init-settings"));
  return [config, ...found].map((object) => object?.metadata.annotations ?? {});
}

function annotate(kube: FakeKube, annotations: Record<string, string>): Record<string, string> {
  const deployment = kube.get("machinedeployments", "pool", "fleet") ?? machineDeployment();
  const all = { ...deployment.metadata.annotations, ...annotations };
  kube.put("machinedeployments", { ...deployment, metadata: { ...deployment.metadata, annotations: all } });
  return all;
}

Deno.test("publishConfig: annotates each artefact with its inputs, and with the annotations of Operating System Manager", async () => {
  const kube = await quietKube();
  const all = annotate(kube, { note: "a <b> & c" });
  const { expiresAt, renewAt } = await publish(kube);
  const { configDigest } = await renderConfig(publisher(kube), pool);
  const shared = {
    "k8c.io/machine-deployment-revision": "1",
    "k8c.io/mdannotations-hash": annotationsHash(all),
    "k8c.io/osp-version": "v1.0.0",
    "ostler.dev/machine-deployment": "fleet/pool",
    "ostler.dev/config-digest": configDigest,
    "ostler.dev/credentials-expire": expiresAt,
    "ostler.dev/credentials-renew": renewAt,
  };
  const [config, ...others] = annotationsOf(kube);
  const clusterDigest = config?.["ostler.dev/cluster-digest"] ?? "";
  match(clusterDigest, /^[0-9a-f]{64}$/);
  const stamp = { ...shared, "ostler.dev/cluster-digest": clusterDigest };
  deepEqual(config, stamp);
  const id = /token: (\w{6})\./.exec(textOf(kube, kubeletBootstrap))?.[1] ?? "";
  for (const each of others) {
    const { "ostler.dev/identity-digest": identity = "", ...rest } = each;
    match(identity, /^[0-9a-f]{64}$/);
    deepEqual(rest, { ...stamp, "ostler.dev/bootstrap-token-id": id });
  }
});

Deno.test("publishConfig: writes an empty revision when the MachineDeployment has none", async () => {
  const kube = await quietKube();
  const { metadata, ...rest } = machineDeployment();
  const { [revisionKey]: _, ...annotations } = metadata.annotations ?? {};
  kube.put("machinedeployments", { ...rest, metadata: { ...metadata, annotations } });
  await publish(kube);
  deepEqual(annotationsOf(kube).map((each) => each["k8c.io/machine-deployment-revision"]), ["", "", "", ""]);
});

Deno.test("publishConfig: only patches artefacts, and keeps credentials, after a change of the profile version or of an annotation that does not affect machines", async () => {
  const kube = await quietKube();
  const first = await publish(kube);
  const texts = secrets.map((name) => textOf(kube, name));
  kube.writes.length = 0;
  const all = annotate(kube, { note: "changed" });
  putProfile(kube, { version: "v1.1.0", bootstrap: "one", provisioning: "kubelet <%= it.kubelet %>" });
  const second = await publish(kube);
  deepEqual([second.news, second.renewAt, second.expiresAt], ["None", first.renewAt, first.expiresAt]);
  deepEqual(kube.writes, [
    "patch operatingsystemconfigs kube-system/pool-fleet-config",
    ...secrets.map((name) => `patch secrets cloud-init-settings/${name}`),
    "replace secrets cloud-init-settings/ostler-last-good-pool-fleet",
  ]);
  deepEqual(secrets.map((name) => textOf(kube, name)), texts);
  for (const each of annotationsOf(kube)) {
    deepEqual([each["k8c.io/mdannotations-hash"], each["k8c.io/osp-version"]], [annotationsHash(all), "v1.1.0"]);
  }
});

Deno.test("publishConfig: writes a new API address and a new CA into the kubeconfig, even if no template mentions them", async () => {
  const kube = await quietKube();
  await publish(kube);
  match(textOf(kube, kubeletBootstrap), /server: https:\/\/api\.example:6443\n/);
  const info = clusterInfo();
  const moved = (info["data"] as { kubeconfig: string }).kubeconfig.replace("api.example", "moved.example");
  kube.put("configmaps", { ...info, data: { kubeconfig: moved } });
  equal((await publish(kube)).news, "Published");
  match(textOf(kube, kubeletBootstrap), /server: https:\/\/moved\.example:6443\n/);
  const { trusted: before } = await publish(kube);
  const ca = btoa("-----BEGIN CERTIFICATE-----\nanother CA\n-----END CERTIFICATE-----\n");
  const other = moved.replace(/authority-data: \S+/, `authority-data: ${ca}`);
  kube.put("configmaps", { ...info, data: { kubeconfig: other } });
  const { trusted: after } = await publish(kube);
  deepEqual([before?.cas.length, after?.cas.length], [1, 1]);
  notEqual(before?.cas[0], after?.cas[0]);
  ok(textOf(kube, kubeletBootstrap).includes(ca));
  await publish(kube, { overrideBootstrapKubeletApiserver: "https://override.example:30443" });
  match(textOf(kube, kubeletBootstrap), /server: https:\/\/override\.example:30443\n/);
  equal((await publish(kube, { overrideBootstrapKubeletApiserver: "https://override.example:30443" })).news, "None");
});

Deno.test("publishConfig: reports the CAs of a publication as first only for a new pool, whose machines cannot trust any others", async () => {
  for (const [hours, isFirst] of [[0, true], [2, undefined]] as const) {
    const creationTimestamp = new Date(Date.now() - hours * 3_600_000).toISOString();
    const kube = await publishingKube({ metadata: { creationTimestamp } });
    deepEqual([(await publish(kube)).trusted?.isFirst, (await publish(kube)).trusted?.isFirst], [isFirst, undefined]);
  }
});

Deno.test("publishConfig: publishes again after a change of the registry password, although the config does not show the password", async () => {
  const kube = await publishingKube();
  putProfile(kube, { provisioning: "<%= it.containerdConfig %>" });
  const settings = { nodeRegistryCredentialsSecret: "kube-system/reg" };
  const put = (password: string): unknown =>
    kube.put("secrets", {
      metadata: { namespace: "kube-system", name: "reg" },
      stringData: { "quay.example": JSON.stringify({ password }) },
    });
  put("first");
  await publish(kube, settings);
  ok(textOf(kube, provisioning).includes("first"));
  put("second");
  equal((await publish(kube, settings)).news, "Published");
  ok(textOf(kube, provisioning).includes("second"));
});

const joinAccount = { bootstrapTokenServiceAccountName: "kube-system/boot" };

function putAccount(kube: FakeKube, secretNames: string[]): void {
  const accountSecrets = secretNames.map((name) => ({ name }));
  kube.put("serviceaccounts", { metadata: { namespace: "kube-system", name: "boot" }, secrets: accountSecrets });
}

Deno.test("publishConfig: uses the first token secret of the service account in the settings", async () => {
  const kube = await quietKube();
  putAccount(kube, ["other", "gone", "token"]);
  const namespace = "kube-system";
  kube.put("secrets", { metadata: { namespace, name: "other" }, stringData: { token: "not this" } });
  kube.put("secrets", {
    ...{ metadata: { namespace, name: "token" }, type: "kubernetes.io/service-account-token" },
    stringData: { token: "the account's token" },
  });
  await publish(kube, joinAccount);
  match(textOf(kube, kubeletBootstrap), /token: the account's token\n/);
  deepEqual(kube.all("secrets").filter(({ metadata }) => metadata.name.startsWith("bootstrap-token-")), []);
  equal((await publish(kube, joinAccount)).news, "None");
});

Deno.test("publishConfig: succeeds when it is forbidden to read the secrets of the service account", async () => {
  const kube = await quietKube();
  putAccount(kube, ["token"]);
  kube.onRequest = (request) => {
    if (request === "get secrets kube-system/token") throw answer(403, "Forbidden");
  };
  equal((await publish(kube, joinAccount)).news, "Published");
  equal((await publish(kube, joinAccount)).news, "None");
});

Deno.test("publishConfig: requests a token when the service account lists no secret", async () => {
  const kube = await quietKube();
  putAccount(kube, []);
  const requests: string[] = [];
  kube.onRequest = (request) => void (request.startsWith("token ") && requests.push(request));
  await publish(kube, joinAccount);
  deepEqual(requests, [
    "token serviceaccounts cloud-init-settings/ostler-pool-fleet",
    "token serviceaccounts kube-system/boot",
  ]);
  const missing = { bootstrapTokenServiceAccountName: "kube-system/none" };
  makeDue(kube, bootstrap);
  await rejects(publish(kube, missing), { type: "CredentialsMissing", message: /"kube-system\/none" does not exist/ });
});

Deno.test("publishConfig: gives an edge machine a script that may fetch its bootstrap secret", async () => {
  const kube = await publishingKube({ value: { ...providerConfig(), cloudProvider: "edge", cloudProviderSpec: {} } });
  putProfile(kube, { providers: ["edge"] });
  const { artefacts } = await publish(kube);
  deepEqual(artefacts.map(({ name }) => name).slice(-2), ["edge-provider-script-pool-fleet", bootstrap]);
  const script = kube.get("secrets", "edge-provider-script-pool-fleet", "cloud-init-settings");
  deepEqual(Object.keys(script?.["data"] ?? {}), ["fetch-bootstrap-script"]);
  const [rule] = kube.get("roles", "ostler-pool-fleet", "cloud-init-settings")?.["rules"] as {
    resourceNames: string[];
  }[];
  deepEqual(rule?.resourceNames, [provisioning, kubeletBootstrap, bootstrap]);
  equal((await publish(kube)).news, "None");
  kube.remove("secrets", "edge-provider-script-pool-fleet", "cloud-init-settings");
  await publish(kube);
  notEqual(kube.get("secrets", "edge-provider-script-pool-fleet", "cloud-init-settings"), undefined);
});

Deno.test("publishConfig: replaces a config that a webhook makes immutable", async () => {
  const kube = await quietKube();
  await publish(kube);
  putProfile(kube, { bootstrap: "two" });
  kube.onRequest = (request) => {
    if (request.startsWith("replace operatingsystemconfigs")) throw answer(403, "Forbidden");
  };
  equal((await publish(kube)).news, "Published");
  match(JSON.stringify(kube.get("operatingsystemconfigs", "pool-fleet-config", "kube-system")), /two/);
});

Deno.test("publishConfig: reports a name that is too long for Kubernetes", async () => {
  const kube = await publishingKube();
  const long = { namespace: "fleet", name: "a".repeat(240) };
  const { metadata, ...rest } = machineDeployment();
  kube.put("machinedeployments", { ...rest, metadata: { ...metadata, ...long } });
  const { configDigest } = await renderConfig(publisher(kube), long);
  await rejects(publishConfig(publisher(kube), { pool: long, revision: "1", configDigest }), {
    type: "ObjectInvalid",
    message: /would have 26\d characters, and Kubernetes allows 253/,
  });
  deepEqual(kube.writes, []);
});

Deno.test("renderConfig: returns the same digest for two profiles with equal output, in either template language", async () => {
  const kube = await publishingKube();
  const eta = { bootstrap: "<%= it.token %> <%= it.secretName %>", provisioning: "kubelet <%= it.kubelet %>" };
  putProfile(kube, eta);
  const first = await publish(kube);
  const { configDigest } = await renderConfig(publisher(kube), pool);
  const go = { bootstrap: "{{ .Token }} {{ .SecretName }}", provisioning: "kubelet {{ .KubeVersion }}" };
  putProfile(kube, { ...go, templating: "go", version: "v9.0.0" });
  equal((await renderConfig(publisher(kube), pool)).configDigest, configDigest);
  const second = await publish(kube);
  deepEqual([second.news, second.renewAt], ["None", first.renewAt]);
});
