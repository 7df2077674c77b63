import { Buffer } from "node:buffer";
import { equal, match, notEqual, ok } from "node:assert/strict";
import { publishConfig } from "../../../../activities/config/publish_config.ts";
import { renderConfig } from "../../../support/rendered.ts";
import { closeTemplateEngines } from "../../../../profiles/mod.ts";
import { answer } from "../../../support/fake_kube.ts";
import type { FakeKube } from "../../../support/fake_kube.ts";
import { machineDeployment, pool, providerConfig, revisionKey } from "../../../support/machine_objects.ts";
import {
  canary,
  publisher,
  publishingKube,
  putProfile,
  putSeed,
  seed,
  textOf,
} from "../../../support/publishing_kube.ts";

Deno.test.afterAll(() => closeTemplateEngines());

const settings = { nodeRegistryCredentialsSecret: "kube-system/reg", nodeHttpProxy: "http://me:proxy-5f3a@proxy:3128" };
const given = [canary, "registry-5f3a", "spec-5f3a", "satellite-5f3a", "password-5f3a", "proxy-5f3a"];

type Templating = "eta" | "go";

const talkative: Record<Templating, { bootstrap: string; provisioning: string }> = {
  eta: {
    bootstrap: "<%= it.token %>",
    provisioning: "<%= it.containerdConfig %> <%= it.proxy.http %> <%= it.osSettings.rhelActivationKey %>",
  },
  go: {
    bootstrap: "{{ .Token }} {{ .BootstrapKubeconfig }}",
    provisioning: "{{ .ContainerRuntimeConfig }} {{ .HTTPProxy }} {{ .RhelConfig.RHELActivationKey }}",
  },
};

/** A pool whose profile writes every secret it can get into its files. */
async function talkativeKube(templating: Templating = "eta", bootstrap?: string): Promise<FakeKube> {
  const kube = await publishingKube({
    value: {
      ...{ ...providerConfig(), operatingSystem: "rhel", cloudProviderSpec: { auth: "spec-5f3a" } },
      operatingSystemSpec: { rhelActivationKey: "satellite-5f3a", rhelSubscriptionManagerPassword: "password-5f3a" },
    },
  });
  putProfile(kube, {
    osName: "rhel",
    templating,
    ...talkative[templating],
    ...(bootstrap === undefined ? {} : { bootstrap }),
  });
  kube.put("secrets", {
    ...{ metadata: { namespace: "kube-system", name: "reg" }, type: "Opaque" },
    stringData: { "quay.example": '{"username": "me", "password": "registry-5f3a"}' },
  });
  return kube;
}

/** Publishes; returns everything that is visible without reading secrets. */
async function seen(kube: FakeKube, revision = "1"): Promise<{ text: string; failed: boolean }> {
  const told: unknown[] = [];
  const failed = await (async () => {
    const rendering = await renderConfig(publisher(kube, settings), pool);
    told.push(rendering);
    const { configDigest } = rendering;
    told.push(await publishConfig(publisher(kube, settings), { pool, revision, configDigest }));
  })().then(() => false, (error: Error) => {
    told.push(error.message, error.stack, String(error.cause), error);
    return true;
  });
  const objects = kube.all("operatingsystemconfigs");
  return { text: JSON.stringify([told, objects]), failed };
}

function assertNone(text: string, secrets: string[]): void {
  for (const secret of secrets) {
    equal(text.includes(secret), false, `"${secret}" shows`);
    const encoded = Buffer.from(secret).toString("base64").slice(0, 12);
    equal(text.includes(encoded), false, `"${secret}" shows encoded`);
  }
}

function bootstrapToken(kube: FakeKube): string {
  return /token: (\w{6}\.\w{16})/.exec(textOf(kube, "fleet-pool-kubelet-bootstrap-config"))?.[1] ?? "none";
}

/** The secret parts of all bootstrap tokens. */
function tokenSecrets(kube: FakeKube): string[] {
  const secrets = kube.all("secrets").map(({ data }) => data as Record<string, string> | undefined);
  return secrets.flatMap((data) => data?.["token-secret"] ?? []).map(atob);
}

for (const templating of ["eta", "go"] as const) {
  Deno.test(`publishConfig: writes the secrets of ${templating} templates only to Secrets, not to configs or results`, async () => {
    const kube = await talkativeKube(templating);
    const { text, failed } = await seen(kube);
    equal(failed, false, text);
    const inSecrets = textOf(kube, "pool-fleet-bootstrap-config") + textOf(kube, "pool-fleet-provisioning-config");
    for (const secret of given.filter((each) => each !== "spec-5f3a")) ok(inSecrets.includes(secret), secret);
    match(bootstrapToken(kube), /\./);
    match(text, /"cloudProvider":\{"name":"kubevirt","spec":\{\}\}/);
    assertNone(text, [...given, bootstrapToken(kube), seed]);
  });
}

Deno.test("renderConfig: returns a digest that depends on the seed, so a guessed secret cannot be confirmed without the seed", async () => {
  const kube = await talkativeKube();
  const { configDigest } = await renderConfig(publisher(kube, settings), pool);
  putSeed(kube, "another seed");
  notEqual((await renderConfig(publisher(kube, settings), pool)).configDigest, configDigest);
});

const failing: [Templating, string, RegExp][] = [
  ["eta", "<% throw new Error(it.token + it.containerdConfig + it.proxy.http) %>", /RenderFailed/],
  [
    "eta",
    '<% if (it.token !== "<hidden>") throw new Error(it.token + it.containerdConfig) %>',
    /RenderFailed.*fails with the real secret values|fails with the real secret values.*RenderFailed/,
  ],
  ["go", "{{ fail (print .Token .ContainerRuntimeConfig) }}", /RenderFailed/],
  [
    "go",
    '{{ if ne .Token "<hidden>" }}{{ fail (print .Token .BootstrapKubeconfig) }}{{ end }}',
    /RenderFailed.*fails with the real secret values|fails with the real secret values.*RenderFailed/,
  ],
];

for (const [templating, template, words] of failing) {
  Deno.test(`publishConfig: shows no secret when the error of a failing template contains secrets: ${template}`, async () => {
    const kube = await talkativeKube(templating, template);
    const { text, failed } = await seen(kube);
    equal(failed, true);
    match(text, words);
    assertNone(text, [...given, ...tokenSecrets(kube)]);
  });
}

Deno.test("publishConfig: shows no secret that the API server repeats in a refusal", async () => {
  const kube = await talkativeKube();
  await seen(kube);
  const secrets = [...given, bootstrapToken(kube), seed];
  for (const code of [400, 409, 422, 500]) {
    kube.onRequest = (request) => {
      if (request.startsWith("replace secrets")) throw answer(code, "Invalid", `you sent ${secrets}`);
    };
    const annotations = { [revisionKey]: String(code) };
    const { metadata, ...rest } = kube.get("machinedeployments", "pool", "fleet") ?? machineDeployment();
    kube.put("machinedeployments", {
      ...rest,
      metadata: { ...metadata, annotations: { ...metadata.annotations, ...annotations } },
    });
    const { text, failed } = await seen(kube, String(code));
    equal(failed, true);
    assertNone(text, secrets);
  }
});

for (const name of ["pool-fleet-provisioning-config", "fleet-pool-kubelet-bootstrap-config"]) {
  Deno.test(`publishConfig: shows no secret when the stored data of Secret ${name} differs from the written data`, async () => {
    const kube = await talkativeKube();
    kube.onChange = ({ plural, object }) => {
      if (plural === "secrets" && object.metadata.name === name) object["data"] = {};
    };
    const { text, failed } = await seen(kube);
    equal(failed, true);
    match(text, /the stored data differs from the written data/);
    equal(tokenSecrets(kube).length, 1);
    assertNone(text, [...given, ...tokenSecrets(kube)]);
  });
}

Deno.test("renderConfig: quotes nothing of a pull Secret with invalid JSON", async () => {
  const kube = await talkativeKube();
  kube.put("secrets", {
    ...{ metadata: { namespace: "kube-system", name: "reg" }, type: "Opaque" },
    stringData: { "quay.example": '{"password": "registry-5f3a"' },
  });
  const { text, failed } = await seen(kube);
  equal(failed, true);
  match(text, /CredentialsMissing/);
  match(text, /quay\.example\\*" is not JSON/);
  assertNone(text, given);
});
