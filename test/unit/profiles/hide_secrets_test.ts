import assert from "node:assert/strict";
import {
  closeTemplateEngines,
  configDigest,
  hideSecrets,
  type OsConfig,
  parseProfile,
  renderConfig,
  type RenderFacts,
  type TemplateEngine,
} from "../../../profiles/mod.ts";
import { type FactOverrides, renderFacts } from "../../support/render_facts.ts";

Deno.test.afterAll(() => closeTemplateEngines());

const reference = { secretKeyRef: { namespace: "n", name: "s", key: "k" } };

/** Every secret that facts can have, each with the word "secret" in it. */
const full: FactOverrides = {
  deployment: { kubelet: "1.28.9" },
  provider: {
    cloudProvider: "openstack",
    cloudProviderSpec: { username: "user", password: "secret-password", domainName: reference },
    operatingSystem: "rhel",
    operatingSystemSpec: {
      rhelSubscriptionManagerUser: "user",
      rhelSubscriptionManagerPassword: "secret-rhel",
      RHELActivationKey: "secret-key",
      rhsmOfflineToken: "secret-offline",
    },
  },
  settings: {
    nodeHttpProxy: "http://user:secret=p/x@proxy.example:3128",
    nodeRegistryMirrors: ["user:secret=x@legacy.example", "quay.io=user:secret@legacy.example"],
    nodeContainerdRegistryMirrors: ["ghcr.io=https://user:secret@m.example/p?kubermatic=override_path%3Dtrue"],
    binariesUrl: "https://user:secret@binaries.example/x",
  },
  secrets: {
    token: "secret-token",
    bootstrapKubeconfig: "secret-kubeconfig",
    registryAuths: {
      "r.example": { username: "secret-user", password: "secret-login", auth: "", identitytoken: "secret" },
    },
    references: { "secret:n/s/k": "secret-referenced" },
    seed: "secret-seed",
  },
};

/** A template engine that prints all data that a template can read. */
const telltale: TemplateEngine = {
  render: ({ files, data }) => Promise.resolve(files.map(() => JSON.stringify(data))),
  close: () => Promise.resolve(),
};

function shownOf(facts: RenderFacts): Promise<OsConfig> {
  const files = [{ path: "/all", content: { inline: { data: "" } } }];
  const profile = parseProfile({
    osName: "rhel",
    osVersion: "9",
    version: "v1.0.0",
    supportedCloudProviders: [{ name: "openstack" }],
    bootstrapConfig: { files },
    provisioningConfig: { files },
  });
  return renderConfig(profile, hideSecrets(facts), { go: telltale, eta: telltale });
}

Deno.test("hideSecrets: the config rendered from hidden facts has no secret, but every host name", async () => {
  const text = JSON.stringify(await shownOf(renderFacts(full)));
  assert.ok(!text.includes("secret-") && !text.includes("user:secret"), text);
  const decoded = hideSecrets(renderFacts(full));
  assert.ok(!JSON.stringify(decoded.settings).includes("secret"));
  assert.deepEqual(decoded.provider.cloudProviderSpec, {});
  for (const host of ["proxy.example:3128", "legacy.example", "m.example/p", "r.example"]) {
    assert.ok(text.includes(host), host);
  }
  assert.equal(decoded.settings.binariesUrl, "https://hidden@binaries.example/x");
  assert.deepEqual(decoded.settings.nodeRegistryMirrors, ["hidden@legacy.example", "quay.io=hidden@legacy.example"]);
  assert.match(text, /override_path = true/);
});

Deno.test("hideSecrets: leaves empty values empty, so that templates take the same branches", () => {
  const facts = renderFacts({ provider: { operatingSystemSpec: { rhsmOfflineToken: "" } } });
  const { provider, settings, secrets } = hideSecrets(facts);
  assert.equal(provider.overwriteCloudConfig, "");
  assert.deepEqual(provider.operatingSystemSpec, { rhsmOfflineToken: "" });
  assert.deepEqual(settings, facts.settings);
  assert.deepEqual(secrets.registryAuths, {});
});

Deno.test("hideSecrets: the hidden kubeconfig equals the real one except for the token", () => {
  const { secrets } = hideSecrets(
    renderFacts({ settings: { overrideBootstrapKubeletApiserver: "https://o.example" } }),
  );
  assert.match(secrets.bootstrapKubeconfig, /\n {4}server: https:\/\/o\.example\n/);
  assert.match(secrets.bootstrapKubeconfig, /\n {4}token: <hidden>\n$/);
});

Deno.test("configDigest: depends on every lasting secret of machines, and not on credentials that are renewed", async () => {
  const facts = renderFacts(full);
  const digestOf = async (other: RenderFacts): Promise<string> => configDigest(await shownOf(other), other);
  const digest = await digestOf(facts);
  const renewed = { ...facts.secrets, token: "other", bootstrapKubeconfig: "other" };
  assert.equal(await digestOf({ ...facts, secrets: renewed }), digest);
  const spec = (more: object): RenderFacts => ({
    ...facts,
    provider: { ...facts.provider, operatingSystemSpec: { ...facts.provider.operatingSystemSpec as object, ...more } },
  });
  const changed: Record<string, RenderFacts> = {
    cloudConfig: { ...facts, secrets: { ...facts.secrets, references: { "secret:n/s/k": "other" } } },
    registryAuths: { ...facts, secrets: { ...facts.secrets, registryAuths: { "r.example": { password: "other" } } } },
    password: spec({ rhelSubscriptionManagerPassword: "other" }),
    key: spec({ RHELActivationKey: "other" }),
    proxy: { ...facts, settings: { ...facts.settings, nodeHttpProxy: "http://user:other@proxy.example:3128" } },
  };
  for (const [what, other] of Object.entries(changed)) {
    assert.notEqual(await digestOf(other), digest, `${what} does not count`);
  }
});

Deno.test("configDigest: depends on the seed only if there is a secret to guess", async () => {
  const digestOf = async (overrides: FactOverrides, seed: string): Promise<string> => {
    const facts = renderFacts({ ...overrides, secrets: { ...overrides.secrets, seed } });
    return configDigest(await shownOf(facts), facts);
  };
  const password = { operatingSystemSpec: { rhsmOfflineToken: "secret" } };
  const guessable: FactOverrides[] = [full, { provider: password }, {
    secrets: { registryAuths: { "r.example": { password: "secret" } } },
  }];
  for (const overrides of guessable) {
    assert.notEqual(await digestOf(overrides, "one"), await digestOf(overrides, "two"));
    assert.equal(await digestOf(overrides, "one"), await digestOf(overrides, "one"));
  }
  const nothing: FactOverrides[] = [{}, { provider: { operatingSystemSpec: { rhsmOfflineToken: "" } } }, {
    secrets: { registryAuths: { "r.example": { password: "" } } },
  }];
  for (const overrides of nothing) assert.equal(await digestOf(overrides, "one"), await digestOf(overrides, ""));
});

Deno.test("hideSecrets: the shown config has other random text than machines get, and the same for every seed", async () => {
  const files = [{ path: "/all", content: { inline: { data: "{{ randAlphaNum 20 }}" } } }];
  const profile = parseProfile({
    ...{ osName: "ubuntu", osVersion: "1", version: "v1.0.0", supportedCloudProviders: [{ name: "kubevirt" }] },
    ...{ bootstrapConfig: { files }, provisioningConfig: {} },
  });
  const textOf = async (facts: RenderFacts): Promise<string | undefined> =>
    (await renderConfig(profile, facts)).bootstrapConfig.files[0]?.content.inline.data;
  const [one, two] = ["one", "two"].map((seed) => renderFacts({ secrets: { seed } })) as [RenderFacts, RenderFacts];
  const real = await textOf(one);
  assert.equal(await textOf(one), real);
  assert.notEqual(await textOf(two), real);
  assert.notEqual(await textOf(hideSecrets(one)), real);
  assert.equal(await textOf(hideSecrets(one)), await textOf(hideSecrets(two)));
});

Deno.test("configDigest: does not depend on the order of keys", async () => {
  const facts = renderFacts(full);
  const shown = await shownOf(facts);
  const reversed = Object.fromEntries(Object.entries(shown).reverse()) as unknown as OsConfig;
  assert.equal(configDigest(reversed, facts), configDigest(shown, facts));
  assert.match(configDigest(shown, facts), /^[0-9a-f]{64}$/);
});
