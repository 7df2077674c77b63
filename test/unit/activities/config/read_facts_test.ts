import { Buffer } from "node:buffer";
import { deepEqual, equal, match, rejects } from "node:assert/strict";
import { type FactReader, readFacts } from "../../../../activities/config/read_facts.ts";
import type { MachineDeployment } from "../../../../activities/kube/resources.ts";
import type { NodeSettings, RenderFacts } from "../../../../profiles/mod.ts";
import { answer, FakeKube } from "../../../support/fake_kube.ts";
import { clusterInfo, machineDeployment, providerConfig } from "../../../support/machine_objects.ts";
import { publisher, putSeed, seed } from "../../../support/publishing_kube.ts";

interface Given {
  settings?: Partial<NodeSettings>;
  value?: Record<string, unknown>;
  kubelet?: string;
  reader?: Partial<FactReader>;
}

function facts(kube: FakeKube, { settings, value, kubelet, reader }: Given = {}): Promise<RenderFacts> {
  const overrides = { value: { ...providerConfig(), ...value }, ...(kubelet ? { kubelet } : {}) };
  const deployment = machineDeployment(overrides) as unknown as MachineDeployment;
  return readFacts({ ...publisher(kube, settings), ...reader }, deployment);
}

function announcedKube(): FakeKube {
  const kube = new FakeKube();
  kube.put("configmaps", clusterInfo());
  putSeed(kube);
  return kube;
}

function putEndpoints(kube: FakeKube, name: string, slice: Record<string, unknown>): void {
  const labels = { "kubernetes.io/service-name": "kubernetes" };
  kube.put("endpointslices", { metadata: { namespace: "default", name, labels }, ...slice });
}

const configuredCa = "-----BEGIN CERTIFICATE-----\nconfigured\n-----END CERTIFICATE-----\n";
const https = [{ name: "https", port: 6443 }];

Deno.test("readFacts: reads address and CA of the API server from cluster-info", async () => {
  const { cluster } = await facts(announcedKube(), { settings: { kubernetesCaBundle: configuredCa } });
  equal(cluster.apiServer, "https://api.example:6443");
  match(cluster.caPem, /EXAMPLE/);
});

Deno.test("readFacts: reads the endpoints of the kubernetes service when cluster-info is missing", async () => {
  const kube = new FakeKube();
  putEndpoints(kube, "a", { ports: [{ name: "metrics", port: 1 }], endpoints: [{ addresses: ["192.0.2.9"] }] });
  putEndpoints(kube, "b", {
    ports: https,
    endpoints: [
      { addresses: ["192.0.2.1"], conditions: { ready: false } },
      { addresses: ["api.example"], conditions: { ready: true } },
      { addresses: ["192.0.2.2"], conditions: { ready: true } },
    ],
  });
  const cluster = { apiServer: "https://192.0.2.2:6443", caPem: configuredCa };
  deepEqual((await facts(kube, { settings: { kubernetesCaBundle: configuredCa } })).cluster, cluster);
  deepEqual((await facts(kube, { reader: { clusterCa: () => configuredCa } })).cluster, cluster);
  kube.put("configmaps", { ...clusterInfo(), data: { kubeconfig: ": no YAML {" } });
  deepEqual((await facts(kube, { reader: { clusterCa: () => configuredCa } })).cluster, cluster);
});

Deno.test("readFacts: refuses an announced CA without a certificate, with which no machine would join", async () => {
  const kube = announcedKube();
  const { data, ...rest } = clusterInfo();
  const { kubeconfig } = data as { kubeconfig: string };
  const broken = kubeconfig.replace(
    /authority-data: \S+/,
    `authority-data: ${btoa("cat: ca-bundle.crt: No such file")}`,
  );
  kube.put("configmaps", { ...rest, data: { kubeconfig: broken } });
  await rejects(
    facts(kube),
    /: the CA is not PEM; correct ConfigMap "kube-public\/cluster-info", or setting kubernetes-ca-bundle/,
  );
});

Deno.test("readFacts: puts an IPv6 address in brackets", async () => {
  const kube = new FakeKube();
  putEndpoints(kube, "a", { ports: https, endpoints: [{ addresses: ["fd00::1"], conditions: { ready: true } }] });
  const { cluster } = await facts(kube, { reader: { clusterCa: () => configuredCa } });
  equal(cluster.apiServer, "https://[fd00::1]:6443");
});

Deno.test("readFacts: refuses a cluster without an address or a CA", async () => {
  const kube = new FakeKube();
  await rejects(facts(kube, { reader: { clusterCa: () => configuredCa } }), {
    type: "ObjectInvalid",
    nonRetryable: true,
  });
  putEndpoints(kube, "a", { ports: https, endpoints: [{ addresses: ["192.0.2.1"] }] });
  await rejects(facts(kube), { type: "ObjectInvalid", message: /nor setting kubernetes-ca-bundle contains a CA/ });
});

Deno.test("readFacts: does not use the endpoints of the kubernetes service when reading cluster-info fails", async () => {
  const kube = announcedKube();
  putEndpoints(kube, "a", { ports: https, endpoints: [{ addresses: ["192.0.2.1"] }] });
  kube.onRequest = (request) => {
    if (request.startsWith("get configmaps kube-public")) throw answer(503, "ServiceUnavailable");
  };
  await rejects(facts(kube, { reader: { clusterCa: () => configuredCa } }));
});

const registrySecret = { nodeRegistryCredentialsSecret: "kube-system/reg" };

function putRegistrySecret(kube: FakeKube, type: string, stringData: Record<string, string>): void {
  kube.put("secrets", { metadata: { namespace: "kube-system", name: "reg" }, type, stringData });
}

Deno.test("readFacts: reads registry credentials from a Docker config and from one key per registry", async () => {
  const kube = announcedKube();
  const auths = {
    "reg.example:8080": { username: "u", password: 'p"w' },
    "https://index.docker.io/v1/": { auth: "x" },
  };
  putRegistrySecret(kube, "kubernetes.io/dockerconfigjson", { ".dockerconfigjson": JSON.stringify({ auths }) });
  deepEqual((await facts(kube, { settings: registrySecret })).secrets.registryAuths, auths);
  putRegistrySecret(kube, "Opaque", {
    "quay.example": '{"username": "q", "email": "q@example"}',
    "bare.example": "{}",
  });
  deepEqual((await facts(kube, { settings: registrySecret })).secrets.registryAuths, {
    "quay.example": { username: "q" },
    "bare.example": {},
  });
});

Deno.test("readFacts: reads registry credentials with keys in any case and without a value, as Go does", async () => {
  const kube = announcedKube();
  const login = { Username: "u", PASSWORD: "p", auth: null, IdentityToken: "t" };
  const expected = { username: "u", password: "p", identitytoken: "t" };
  putRegistrySecret(kube, "Opaque", { "quay.example": JSON.stringify(login) });
  deepEqual((await facts(kube, { settings: registrySecret })).secrets.registryAuths, { "quay.example": expected });
  const config = { Auths: { "quay.example": login } };
  putRegistrySecret(kube, "kubernetes.io/dockerconfigjson", { ".dockerconfigjson": JSON.stringify(config) });
  deepEqual((await facts(kube, { settings: registrySecret })).secrets.registryAuths, { "quay.example": expected });
});

Deno.test("readFacts: reads a Docker config without logins, and a registry without one, as Go does", async () => {
  const kube = announcedKube();
  const empty = [["{}", {}], ['{"auths": null}', {}], ['{"auths": {"quay.example": null}}', { "quay.example": {} }]];
  for (const [config, expected] of empty as [string, object][]) {
    putRegistrySecret(kube, "kubernetes.io/dockerconfigjson", { ".dockerconfigjson": config });
    deepEqual((await facts(kube, { settings: registrySecret })).secrets.registryAuths, expected);
  }
});

Deno.test("readFacts: names missing registry credentials, and waits for them for a while", async () => {
  const kube = announcedKube();
  const expected = { type: "CredentialsMissing", nonRetryable: false };
  await rejects(facts(kube, { settings: registrySecret }), {
    ...expected,
    message: /"kube-system\/reg": it does not exist/,
  });
  putRegistrySecret(kube, "Opaque", { "quay.example": '{"password": 5}' });
  await rejects(facts(kube, { settings: registrySecret }), {
    ...expected,
    message: /"quay.example.password" is not JSON/,
  });
  putRegistrySecret(kube, "kubernetes.io/dockerconfigjson", { other: "{}" });
  await rejects(facts(kube, { settings: registrySecret }), {
    ...expected,
    message: /".dockerconfigjson: auths" is not JSON/,
  });
  await rejects(facts(kube, { settings: { nodeRegistryCredentialsSecret: "reg" } }), {
    message: /must be namespace\/name/,
  });
});

const openstack = {
  cloudProvider: "openstack",
  cloudProviderSpec: {
    identityEndpoint: "https://keystone.example",
    applicationCredentialID: { configMapKeyRef: { namespace: "clouds", name: "cred", key: "id" } },
    applicationCredentialSecret: { secretKeyRef: { namespace: "clouds", name: "cred", key: "secret" } },
  },
};

Deno.test("readFacts: reads references of the provider spec, and only the allowed environment variables", async () => {
  const kube = announcedKube();
  kube.put("configmaps", { metadata: { namespace: "clouds", name: "cred" }, data: { id: "the id" } });
  kube.put("secrets", { metadata: { namespace: "clouds", name: "cred" }, stringData: { secret: "the secret" } });
  const environment = { OS_REGION_NAME: "north", HOME: "/root" };
  const given = { value: openstack, kubelet: "1.28.9", reader: { environment, usesEnvironment: true } };
  deepEqual((await facts(kube, given)).secrets.references, {
    "configmap:clouds/cred/id": "the id",
    "secret:clouds/cred/secret": "the secret",
    "env:OS_REGION_NAME": "north",
  });
  kube.remove("secrets", "cred", "clouds");
  const { references } = (await facts(kube, given)).secrets;
  equal(Object.hasOwn(references, "secret:clouds/cred/secret"), false);
});

Deno.test("readFacts: reads no references for machines without cloud-config", async () => {
  const kube = announcedKube();
  const asked: string[] = [];
  kube.onRequest = (request) => void asked.push(request);
  deepEqual((await facts(kube, { value: openstack, kubelet: "1.35.3" })).secrets.references, {});
  deepEqual(asked, ["get configmaps kube-public/cluster-info", "get secrets kube-system/ostler-seed"]);
});

Deno.test("readFacts: returns the seed of the installation, and makes it the first time", async () => {
  equal((await facts(announcedKube())).secrets.seed, seed);
  const kube = announcedKube();
  kube.remove("secrets", "ostler-seed", "kube-system");
  const made = (await facts(kube)).secrets.seed;
  equal(made.length, 44);
  equal((await facts(kube)).secrets.seed, made);
});

Deno.test("readFacts: names invalid fields of a provider config, never their values", async () => {
  await rejects(facts(announcedKube(), { value: { password: Buffer.from("x").toString() } }), {
    name: "ProfileRefused",
    message: /"fleet\/pool": .*password/,
  });
});
