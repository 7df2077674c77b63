import assert from "node:assert/strict";
import { type Rendering, renderMachines } from "../../../cli/rendering.ts";
import { CertificateAuthority } from "../../../deploy/local/stack/certificate_authority.ts";
import { closeTemplateEngines, parseProfile, readNodeSettings, settingRows } from "../../../profiles/mod.ts";
import { NodeSettings } from "../../../profiles/node_settings.ts";
import { deploymentYaml, FakeTerminal, profileYaml } from "../../support/fake_terminal.ts";

const files = { "osp.yaml": profileYaml(), "md.yaml": deploymentYaml() };
const flags = ["--node-registry-credentials-secret=kube-system/logins", "--bootstrap-token-service-account-name=a/b"];

Deno.test("ostler render: reports the ignored settings once, and with -o json in a field of the output", async () => {
  using terminal = new FakeTerminal(files);
  const { code, out, err } = await terminal.run(["render", "osp.yaml", "md.yaml", "-o", "json", ...flags]);
  assert.equal(code, 0);
  const names = ["node-registry-credentials-secret", "bootstrap-token-service-account-name"];
  assert.deepEqual(JSON.parse(out).ignoredSettings, names);
  assert.equal(err, `ignored, because these settings need a cluster: --${names.join(", --")}\n`);
  const plain = await terminal.run(["render", "osp.yaml", "md.yaml", "-o", "json"]);
  assert.deepEqual([JSON.parse(plain.out).ignoredSettings, plain.err], [[], ""]);
});

Deno.test("ostler diff: reports the ignored settings of both sides once", async () => {
  using terminal = new FakeTerminal(files);
  const args = ["diff", "osp.yaml", "md.yaml", flags[0]!, "--set", flags[1]!.slice(2)];
  const { code, err } = await terminal.run(args);
  assert.equal(code, 0);
  assert.equal(err.split("ignored, because").length, 2);
  for (const flag of flags) assert.ok(err.includes(flag.split("=")[0]!), err);
});

/** Values other than the default, by flag; `true` for flags without an entry here. */
const samples: Record<string, string> = {
  "cluster-dns": "192.0.2.1",
  "initial-taints": "a=b:NoSchedule",
  "pause-image": "registry.test/pause",
  "node-http-proxy": "http://proxy.test:1",
  "node-no-proxy": "example.test",
  "node-kubelet-feature-gates": "GateA=true",
  "node-insecure-registries": "registry.test",
  "node-registry-mirrors": "mirror.test",
  "node-containerd-registry-mirrors": "docker.io=https://mirror.test",
  "override-bootstrap-kubelet-apiserver": "https://api.test",
  "node-registry-credentials-secret": "a/b",
  "bootstrap-token-service-account-name": "a/b",
  "cluster-domain": "test.local",
  "binaries-url": "https://binaries.test",
  "binaries-digests": `runc/v1/runc.amd64=${"a".repeat(64)}`,
};

Deno.test("ostler render: reports every setting that has no effect, and no other", async (story) => {
  const { certificatePem } = await CertificateAuthority.create("sample");
  const inline = { data: "<%= JSON.stringify(it) %>" };
  const profile = parseProfile({
    osName: "ubuntu",
    osVersion: "24.04",
    version: "v1.0.0",
    templating: "eta",
    supportedCloudProviders: [{ name: "kubevirt" }],
    bootstrapConfig: {},
    provisioningConfig: { files: [{ path: "/all", content: { inline } }] },
  });
  const render = (argv: string[]): Promise<Rendering> => {
    const { settings } = readNodeSettings({ argv }, () => certificatePem);
    const deployment = { namespace: "kube-system", name: "pool", annotations: {}, kubelet: "1.36.1" };
    const provider = { cloudProvider: "kubevirt", cloudProviderSpec: {}, operatingSystem: "ubuntu" };
    const file = {
      deployment,
      provider: { ...provider, operatingSystemSpec: {} },
      profile: undefined,
      warnings: [],
      placeOf: () => ({ file: "md.yaml" }),
    };
    return renderMachines({ name: "osp", profile, family: [] }, file, settings);
  };
  try {
    const plain = await render([]);
    for (const { flag } of settingRows(NodeSettings)) {
      await story.step(flag, async () => {
        const { config, ignoredSettings } = await render([`--${flag}=${samples[flag] ?? "true"}`]);
        const isSame = JSON.stringify(config) === JSON.stringify(plain.config);
        assert.deepEqual(ignoredSettings, isSame ? [flag] : []);
      });
    }
  } finally {
    await closeTemplateEngines();
  }
});
