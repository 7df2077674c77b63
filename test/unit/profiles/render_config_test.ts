import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import {
  bytesOf,
  closeTemplateEngines,
  configDigest,
  defaultProfiles,
  generateUserData,
  type OsConfig,
  type OsProfile,
  parseProfile,
  ProfileRefused,
  renderConfig,
  type RenderInput,
  type TemplateEngine,
} from "../../../profiles/mod.ts";
import { canonicalJson } from "../../../profiles/canonical_json.ts";

const input: RenderInput = {
  name: "pool",
  namespace: "kube-system",
  kubelet: "1.36.1",
  cluster: {
    apiServer: "https://192.0.2.1:6443",
    caPem: "-----BEGIN CERTIFICATE-----\nTUlJQg==\n-----END CERTIFICATE-----",
    dnsIPs: ["10.96.0.10"],
  },
  provider: { name: "kubevirt" },
  operatingSystem: "ubuntu",
  secretName: "pool-kube-system-provisioning-config",
  bootstrapKubeconfigSecret: "kube-system-pool-kubelet-bootstrap-config",
};

function file(path: string, data: string): { path: string; content: { inline: { data: string } } } {
  return { path, content: { inline: { data } } };
}

function profileOf(phase: object, more: object = {}): OsProfile {
  return parseProfile({
    osName: "ubuntu",
    osVersion: "24.04",
    version: "v1.2.3",
    templating: "eta",
    supportedCloudProviders: [{ name: "kubevirt" }],
    bootstrapConfig: {},
    provisioningConfig: phase,
    ...more,
  });
}

async function rendered(profile: OsProfile, given: RenderInput = input): Promise<OsConfig> {
  try {
    return await renderConfig(profile, given);
  } finally {
    await closeTemplateEngines();
  }
}

async function refusalOf(work: Promise<unknown>): Promise<ProfileRefused> {
  const error = await work.then(() => undefined, (error) => error);
  assert.ok(error instanceof ProfileRefused, String(error));
  return error;
}

Deno.test("renderConfig puts profile files first, then the runtime's, then hosts.toml, and snippets of the phase win", async () => {
  const config = await rendered(profileOf({
    files: [file("/a", `<%~ include("@s") %>`)],
    templates: { s: "phase" },
    supportedContainerRuntimes: [
      { name: "docker", files: [file("/dead", "")] },
      { name: "containerd", files: [file("/b", `<%~ include("@t") %>`)], templates: { s: "runtime", t: "t" } },
    ],
  }));
  const files = config.provisioningConfig.files.map(({ path, content }) => [path, content.inline.data]);
  assert.deepEqual(files.slice(0, 2), [["/a", "phase"], ["/b", "t"]]);
  assert.equal(files[2]?.[0], "/etc/containerd/certs.d/docker.io/hosts.toml");
  assert.deepEqual(config.bootstrapConfig.files, []);
  assert.deepEqual(config.cloudProvider, { name: "kubevirt", spec: {} });
});

Deno.test("renderConfig leaves units and modules as they are", async () => {
  const modules = { runcmd: ["echo <%= it.name %>"] };
  const { provisioningConfig } = await rendered(profileOf({ modules }));
  assert.deepEqual(provisioningConfig.modules, modules);
});

Deno.test("renderConfig refuses a template that cannot be rendered, naming the file", async () => {
  const error = await refusalOf(rendered(profileOf({ files: [file("/etc/x", "<%= it.cluster.port %>")] })));
  assert.equal(error.reason, "RenderFailed");
  assert.equal(error.message, `Cannot render file "/etc/x": line 1: it.cluster.port is missing`);
});

Deno.test("renderConfig refuses Go templates and says so", async () => {
  const error = await refusalOf(rendered(profileOf({}, { templating: "go" })));
  assert.equal(error.reason, "TemplatingUnsupported");
  assert.match(error.message, /Go templates are not rendered by this version/);
});

Deno.test("renderConfig refuses input that could break out of the files it is written to", async () => {
  const bad: [string, RenderInput][] = [
    ["cluster.apiServer", { ...input, cluster: { ...input.cluster, apiServer: 'https://x"; rm -rf /' } }],
    ["secretName", { ...input, secretName: "$(reboot)" }],
    ["taints", { ...input, taints: "a=b:NoSchedule --evil" }],
    ["proxy.http", { ...input, proxy: { http: "http://x`id`" } }],
    ["pauseImage", { ...input, pauseImage: 'a"b' }],
  ];
  for (const [field, given] of bad) {
    const error = await refusalOf(rendered(profileOf({}), given));
    assert.equal(error.reason, "RenderFailed");
    assert.ok(error.message.includes(`input ${field}: `), error.message);
  }
  const version = await refusalOf(rendered(profileOf({}), { ...input, kubelet: "latest" }));
  assert.equal(version.reason, "KubeletVersionInvalid");
});

Deno.test("renderConfig passes on failures of the engine, which a new try may mend", async () => {
  const engine: TemplateEngine = { render: () => Promise.reject(new Error("no process")), close: async () => {} };
  await assert.rejects(renderConfig(profileOf({ files: [file("/a", "")] }), input, engine), /^Error: no process$/);
});

Deno.test("configDigest depends on content and not on the order of keys", async () => {
  const [profile] = await defaultProfiles();
  assert.ok(profile);
  const [first, second] = [await rendered(profile.spec), await rendered(profile.spec)];
  const shuffled = JSON.parse(canonicalJson(Object.fromEntries(Object.entries(second).reverse()))) as OsConfig;
  assert.match(configDigest(first), /^[0-9a-f]{64}$/);
  assert.equal(configDigest(first), configDigest(shuffled));
  assert.equal(configDigest(first), createHash("sha256").update(canonicalJson(first)).digest("hex"));
  const other = await rendered(profile.spec, { ...input, sshKeys: ["ssh-ed25519 AAAA"] });
  assert.notEqual(configDigest(first), configDigest(other));
});

Deno.test("the default profiles hold no token: it is in the user-data alone", async () => {
  const [profile] = await defaultProfiles();
  assert.ok(profile);
  const config = await rendered(profile.spec);
  const token = { path: "/etc/ostler/token", permissions: 600, content: { inline: { data: "tok-123" } } };
  const paths = [...config.bootstrapConfig.files, ...config.provisioningConfig.files].map(({ path }) => path);
  assert.equal(paths.includes(token.path), false);
  assert.equal(JSON.stringify(config).includes("tok-123"), false);
  assert.equal(generateUserData(config, "bootstrap", [token]).includes("tok-123"), true);
  assert.equal(bytesOf("é"), 2);
});
