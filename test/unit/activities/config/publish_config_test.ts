import { deepEqual, equal, match, notEqual, ok, rejects } from "node:assert/strict";
import { publishConfig } from "../../../../activities/config/publish_config.ts";
import { bootstrapGroup, poolGroupOf } from "../../../../activities/config/token_group.ts";
import { renderConfig } from "../../../support/rendered.ts";
import { closeTemplateEngines } from "../../../../profiles/mod.ts";
import type { Publication } from "../../../../workflows/contracts/mod.ts";
import { answer } from "../../../support/fake_kube.ts";
import type { FakeKube } from "../../../support/fake_kube.ts";
import { machineDeployment, pool, revisionKey } from "../../../support/machine_objects.ts";
import { canary, makeDue, publisher, publishingKube, putProfile, textOf } from "../../../support/publishing_kube.ts";

const provisioning = "pool-fleet-provisioning-config";
const kubeletBootstrap = "fleet-pool-kubelet-bootstrap-config";
const bootstrap = "pool-fleet-bootstrap-config";
const secrets = [provisioning, kubeletBootstrap, bootstrap];
const owner = "ostler.dev/machine-deployment";

Deno.test.afterAll(() => closeTemplateEngines());

/** A pool whose profile writes the token unchanged. */
async function plainKube(): Promise<FakeKube> {
  const kube = await publishingKube();
  putProfile(kube, { bootstrap: "<%= it.token %>", provisioning: "kubelet <%= it.kubelet %>" });
  return kube;
}

async function publish(kube: FakeKube, revision = "1"): Promise<Publication> {
  const { configDigest } = await renderConfig(publisher(kube), pool);
  return await publishConfig(publisher(kube), { pool, revision, configDigest });
}

function secret(kube: FakeKube, name: string): ReturnType<FakeKube["get"]> {
  return kube.get("secrets", name, "cloud-init-settings");
}

/**
 * Returns the writes to the OperatingSystemConfig and the Secrets that machines boot from, without the writes of tokens
 * and of the finalizer.
 */
function artefactWrites(kube: FakeKube): string[] {
  return kube.writes.filter((write) => /operatingsystemconfigs|cloud-init-settings\/.*-config/.test(write));
}

Deno.test("publishConfig: writes the OperatingSystemConfig first, then its Secrets, and the bootstrap Secret last", async () => {
  const kube = await publishingKube();
  const { news, artefacts } = await publish(kube);
  equal(news, "Published");
  deepEqual(artefactWrites(kube), [
    "create operatingsystemconfigs kube-system/pool-fleet-config",
    ...secrets.map((name) => `create secrets cloud-init-settings/${name}`),
  ]);
  deepEqual(artefacts.map(({ name }) => name), ["pool-fleet-config", ...secrets]);
  equal(secret(kube, bootstrap)?.metadata.annotations?.["k8c.io/machine-deployment-revision"], "1");
});

Deno.test("publishConfig: adds the finalizer before anything that it protects", async () => {
  const kube = await publishingKube();
  await publish(kube);
  equal(kube.writes[0], "patch machinedeployments fleet/pool");
  const finalizers = kube.get("machinedeployments", "pool", "fleet")?.metadata.finalizers;
  deepEqual(finalizers, ["kubermatic.io/cleanup-operating-system-configs"]);
});

Deno.test("publishConfig: gives machines a token for exactly their two secrets and their boot report", async () => {
  const kube = await plainKube();
  await publish(kube);
  deepEqual(kube.get("roles", "ostler-pool-fleet", "cloud-init-settings")?.["rules"], [
    {
      ...{ apiGroups: [""], resources: ["secrets"], verbs: ["get"] },
      resourceNames: [provisioning, kubeletBootstrap],
    },
    { apiGroups: [""], resources: ["configmaps"], resourceNames: ["ostler-boot-pool-fleet"], verbs: ["patch"] },
  ]);
  notEqual(kube.get("configmaps", "ostler-boot-pool-fleet", "cloud-init-settings"), undefined);
  ok(textOf(kube, bootstrap).includes(canary));
});

Deno.test("publishConfig: continues when a machine made its boot report immutable, with a key that no machine has", async () => {
  const kube = await publishingKube();
  const report = { metadata: { namespace: "cloud-init-settings", name: "ostler-boot-pool-fleet" }, immutable: true };
  kube.put("configmaps", { ...report, data: { "no machine": "{}" } });
  equal((await publish(kube)).news, "Published");
  kube.put("configmaps", { ...report, data: { "no machine": "{}" } });
  equal((await publish(kube)).news, "None");
});

Deno.test("publishConfig: writes nothing when everything is current", async () => {
  const kube = await publishingKube();
  const first = await publish(kube);
  kube.writes.length = 0;
  const second = await publish(kube);
  deepEqual([second.news, second.renewAt, second.expiresAt], ["None", first.renewAt, first.expiresAt]);
  deepEqual(kube.writes, []);
});

Deno.test("publishConfig: replaces each secret in one update when the revision changes, so none is ever missing", async () => {
  const kube = await publishingKube();
  await publish(kube);
  const before = textOf(kube, provisioning);
  kube.writes.length = 0;
  kube.put("machinedeployments", machineDeployment({ annotations: { [revisionKey]: "2" }, kubelet: "1.36.1" }));
  equal((await publish(kube, "2")).news, "Published");
  deepEqual(artefactWrites(kube), [
    "replace operatingsystemconfigs kube-system/pool-fleet-config",
    ...secrets.map((name) => `replace secrets cloud-init-settings/${name}`),
  ]);
  notEqual(textOf(kube, provisioning), before);
});

Deno.test("publishConfig: renews credentials only when they are due", async () => {
  const kube = await plainKube();
  const first = await publish(kube);
  kube.token = { token: "the next token", expirationTimestamp: new Date(Date.now() + 3_600_000) };
  equal((await publish(kube)).news, "None");
  makeDue(kube, bootstrap);
  const second = await publish(kube);
  equal(second.news, "Renewed");
  ok(second.renewAt >= first.renewAt && Date.parse(second.renewAt) > Date.now());
  ok(textOf(kube, bootstrap).includes("the next token"));
});

Deno.test("publishConfig: schedules the renewal by the lifetime that the API server granted", async () => {
  const kube = await plainKube();
  const expiry = Date.now() + 3_000_000;
  kube.token = { token: canary, expirationTimestamp: new Date(expiry) };
  const { renewAt, expiresAt } = await publish(kube);
  equal(Date.parse(expiresAt), expiry);
  const after = Date.parse(renewAt) - (expiry - 3_000_000);
  ok(after >= 500_000 && after < 1_010_000, `due after ${after} ms`);
});

Deno.test("publishConfig: refuses a lifetime so short that a renewal could be late", async () => {
  const kube = await plainKube();
  kube.token = { token: canary, expirationTimestamp: new Date(Date.now() + 600_000) };
  await rejects(publish(kube), (error: Error & { type?: string }) => {
    equal(error.type, "CredentialsMissing");
    match(
      error.message,
      /of 3600 s .* the API server grants 600 s; set the lifetime of the credentials \(credential-seconds\)/,
    );
    return true;
  });
  equal(secret(kube, bootstrap), undefined);
});

Deno.test("publishConfig: finishes an interrupted renewal", async () => {
  const kube = await plainKube();
  await publish(kube);
  for (const name of secrets) makeDue(kube, name);
  kube.token = { token: "the next token", expirationTimestamp: new Date(Date.now() + 3_600_000) };
  kube.onRequest = (request) => {
    if (request === `replace secrets cloud-init-settings/${bootstrap}`) throw answer(503, "ServiceUnavailable");
  };
  await rejects(publish(kube), { type: "ApiUnavailable" });
  kube.onRequest = () => {};
  equal((await publish(kube)).news, "Renewed");
  ok(textOf(kube, bootstrap).includes("the next token"));
});

Deno.test("publishConfig: makes a new bootstrap token when the published one was deleted", async () => {
  const kube = await plainKube();
  await publish(kube);
  const [token] = kube.all("secrets").filter(({ metadata }) => metadata.name.startsWith("bootstrap-token-"));
  kube.remove("secrets", token?.metadata.name ?? "", "kube-system");
  equal((await publish(kube)).news, "Renewed");
  const id = /token: (\w{6})\./.exec(textOf(kube, kubeletBootstrap))?.[1];
  notEqual(kube.get("secrets", `bootstrap-token-${id}`, "kube-system"), undefined);
});

Deno.test("publishConfig: adds the pool's group to bootstrap tokens on request, and keeps valid earlier tokens", async () => {
  const kube = await plainKube();
  const groups = (): string[] =>
    kube.all("secrets").filter(({ metadata }) => metadata.name.startsWith("bootstrap-token-")).map(({ data }) =>
      atob((data as Record<string, string>)["auth-extra-groups"] ?? "")
    );
  await publish(kube);
  deepEqual(groups(), [bootstrapGroup]);
  const { configDigest } = await renderConfig(publisher(kube), pool);
  const telling = async (): Promise<Publication> =>
    await publishConfig({ ...publisher(kube), tokensTellPool: true }, { pool, revision: "1", configDigest });
  equal((await telling()).news, "None");
  for (const name of secrets) makeDue(kube, name);
  equal((await telling()).news, "Renewed");
  deepEqual(groups().sort(), [bootstrapGroup, `${bootstrapGroup},${poolGroupOf(pool)}`]);
});

Deno.test("publishConfig: keeps earlier bootstrap tokens while they are valid, and drops expired tokens", async () => {
  const kube = await plainKube();
  const tokens = (): string[] =>
    kube.all("secrets").map(({ metadata }) => metadata.name).filter((name) => name.startsWith("bootstrap-token-"));
  await publish(kube);
  const [alive = ""] = tokens();
  const label = { "machinedeployment.k8s.io/name": "fleet-pool" };
  const expired = (name: string, annotations: Record<string, string>): unknown =>
    kube.put("secrets", {
      metadata: { namespace: "kube-system", name, labels: label, annotations },
      stringData: { expiration: "2020-01-01T00:00:00Z" },
    });
  expired("bootstrap-token-oldold", { [owner]: "fleet/pool" });
  expired("bootstrap-token-theirs", { [owner]: "fleet/other" });
  const former = tokens();
  for (const name of secrets) makeDue(kube, name);
  await publish(kube);
  equal(tokens().length, 4, "Expected only the first renewal of a day to delete expired tokens");
  for (const name of secrets) makeDue(kube, name, 1);
  kube.remove("secrets", tokens().find((name) => !former.includes(name)) ?? "", "kube-system");
  await publish(kube);
  equal(tokens().length, 3);
  ok(tokens().includes(alive) && tokens().includes("bootstrap-token-theirs"));
  ok(!tokens().includes("bootstrap-token-oldold"));
});

Deno.test("publishConfig: does not set the token label of Operating System Manager, which fails if several tokens of a pool have the label", async () => {
  const kube = await plainKube();
  const osmLabel = "machinedeployment.k8s.io/name";
  const labelled = (): string[] =>
    kube.all("secrets").filter(({ metadata }) => metadata.labels?.[osmLabel]).map(({ metadata }) => metadata.name);
  const alive = (name: string, annotations?: Record<string, string>): unknown =>
    kube.put("secrets", {
      metadata: {
        namespace: "kube-system",
        name,
        labels: { [osmLabel]: "fleet-pool" },
        ...(annotations && { annotations }),
      },
      stringData: { expiration: "2099-01-01T00:00:00Z" },
    });
  alive("bootstrap-token-theirs");
  await publish(kube);
  deepEqual(labelled(), ["bootstrap-token-theirs"]);
  alive("bootstrap-token-former", { [owner]: "fleet/pool" });
  for (const name of secrets) makeDue(kube, name, 1);
  await publish(kube);
  deepEqual(labelled(), ["bootstrap-token-theirs"]);
  equal(
    kube.get("secrets", "bootstrap-token-former", "kube-system")?.metadata.labels?.["ostler.dev/pool"],
    "fleet-pool",
  );
});

Deno.test("publishConfig: publishes deleted artefacts again", async () => {
  const kube = await publishingKube();
  await publish(kube);
  kube.remove("secrets", kubeletBootstrap, "cloud-init-settings");
  await publish(kube);
  notEqual(secret(kube, kubeletBootstrap), undefined);
});

for (const name of [...secrets, "pool-fleet-config"]) {
  Deno.test(`publishConfig: overwrites nothing when another pool owns ${name}`, async () => {
    const kube = await publishingKube();
    const isSecret = name !== "pool-fleet-config";
    const [plural, namespace] = isSecret
      ? ["secrets", "cloud-init-settings"]
      : ["operatingsystemconfigs", "kube-system"];
    kube.put(plural, { metadata: { namespace, name, annotations: { [owner]: "fleet-a/b" } }, spec: {} });
    await rejects(publish(kube), (error: Error & { type?: string }) => {
      equal(error.type, "NameCollision");
      match(error.message, /"fleet\/pool": MachineDeployment "fleet-a\/b" already owns an object of that name/);
      return true;
    });
    deepEqual(kube.writes, []);
  });
}

Deno.test("publishConfig: takes over immutable artefacts of Operating System Manager", async () => {
  const kube = await plainKube();
  const annotations = { "k8c.io/mdannotations-hash": "x", "k8c.io/machine-deployment-revision": "1" };
  for (const name of secrets) {
    const metadata = { namespace: "cloud-init-settings", name, annotations };
    kube.put("secrets", { metadata, immutable: true, data: { "cloud-config": "b2xk" } });
  }
  equal((await publish(kube)).news, "Published");
  ok(textOf(kube, bootstrap).includes(canary));
  equal(secret(kube, bootstrap)?.metadata.annotations?.[owner], "fleet/pool");
  equal(secret(kube, bootstrap)?.["immutable"], undefined);
});

Deno.test("publishConfig: writes nothing for a revision that the MachineDeployment no longer has", async () => {
  const kube = await publishingKube({ annotations: { [revisionKey]: "2" } });
  await rejects(publish(kube, "1"), { type: "GenerationStale", nonRetryable: true });
  deepEqual(kube.writes, []);
});

Deno.test("publishConfig: fails with a retryable error when a Secret changes before it is written", async () => {
  const kube = await publishingKube();
  await publish(kube);
  kube.put("machinedeployments", machineDeployment({ annotations: { [revisionKey]: "2" } }));
  kube.onRequest = (request) => {
    if (!request.startsWith(`replace secrets cloud-init-settings/${provisioning}`)) return;
    kube.put("secrets", {
      ...secret(kube, provisioning),
      metadata: { name: provisioning, namespace: "cloud-init-settings" },
    });
  };
  await rejects(publish(kube, "2"), { type: "ApiUnavailable", nonRetryable: false });
});

Deno.test("publishConfig: fails when the stored artefact differs from the written one", async () => {
  const kube = await plainKube();
  kube.onChange = ({ plural, object }) => {
    if (plural === "secrets" && object.metadata.name === provisioning) object["data"] = { cloud: "b3RoZXI=" };
  };
  await rejects(publish(kube), /the stored data differs from the written data/);
});
