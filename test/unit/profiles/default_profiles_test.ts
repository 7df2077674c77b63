import assert from "node:assert/strict";
import {
  bytesOf,
  checkProfileFits,
  closeTemplateEngines,
  defaultProfiles,
  generateUserData,
  hideSecrets,
  type OsConfig,
  type OsFile,
  type OsProfile,
  type Phase,
  renderConfig,
} from "../../../profiles/mod.ts";
import { readBootstrap } from "../../../deploy/local/cloud/boot/boot.ts";
import { parseCloudConfig } from "../../../deploy/local/cloud/boot/cloud_config.ts";
import { readProvisioning } from "../../../deploy/local/cloud/boot/provisioning.ts";
import { CertificateAuthority } from "../../../deploy/local/stack/certificate_authority.ts";
import { airGap, factsFor } from "../../support/default_profile_facts.ts";
import { type FactOverrides, renderFacts } from "../../support/render_facts.ts";

interface Rendered {
  /** Names the profile, the provider and the situation. */
  label: string;
  situation: string;
  spec: OsProfile;
  config: OsConfig;
}

const token = "tok3n".repeat(300);
const phases: Phase[] = ["bootstrap", "provisioning"];
const everything: FactOverrides = {
  ...airGap,
  cluster: { apiServer: "https://[2001:db8::10]:6443" },
  provider: { network: { ipFamily: "IPv4+IPv6" }, operatingSystemSpec: { distUpgradeOnBoot: true } },
  secrets: { token, registryAuths: { "mirror.test": { username: "reader", password: "reg1stry" } } },
};

const { certificatePem: caPem } = await CertificateAuthority.create("boot-test");
const network = { ipFamily: "IPv4+IPv6" };
const situations: Record<string, FactOverrides> = {
  "little said": { secrets: { token } },
  "everything said": everything,
  "two families": { provider: { network }, settings: { externalCloudProvider: false } },
  "two families, external provider": { provider: { network }, settings: { externalCloudProvider: true } },
  "with a real CA": { cluster: { apiServer: "https://192.0.2.1:6443", caPem } },
};

// All configs of one profile are rendered before those of the next profile, because the engine forgets a profile when
// it renders another one.
const rendered: Rendered[] = [];
const shown = new Map<Rendered, OsConfig>();
for (const { metadata, spec } of await defaultProfiles()) {
  for (const { name } of spec.supportedCloudProviders) {
    for (const [situation, overrides] of Object.entries(situations)) {
      const facts = factsFor(spec, name, overrides);
      const label = `${metadata.name} on ${name}, ${situation}`;
      const one = { label, situation, spec, config: await renderConfig(spec, facts) };
      rendered.push(one);
      if (/ said$/.test(situation)) shown.set(one, await renderConfig(spec, hideSecrets(facts)));
    }
  }
}
await closeTemplateEngines();

const matrix = [...shown.keys()];

function filesOf({ bootstrapConfig, provisioningConfig }: OsConfig): OsFile[] {
  return [...bootstrapConfig.files, ...provisioningConfig.files];
}

function userData(config: OsConfig, phase: Phase): string {
  return generateUserData(config, phase, { name: "pool", distUpgradeOnBoot: false });
}

Deno.test("default profiles: have the known names, systems and versions", async () => {
  const profiles = await defaultProfiles();
  const table = profiles.map(({ metadata: { name }, spec: { osName, osVersion, provisioningUtility } }) =>
    [name, osName, osVersion, provisioningUtility].join(" ")
  );
  assert.deepEqual(table, [
    "osp-ubuntu ubuntu 24.04 cloud-init",
    "osp-debian debian 12 cloud-init",
    "osp-rhel rhel 9 cloud-init",
    "osp-rockylinux rockylinux 9 cloud-init",
    "osp-amzn2 amzn2 2.0 cloud-init",
    "osp-flatcar flatcar 4230.2.0 ignition",
    "osp-flatcar-cloud-init flatcar 4230.2.0 cloud-init",
  ]);
});

Deno.test("default profiles: support at least the providers that the profiles of Operating System Manager support", async () => {
  const theirs: Record<string, string> = {
    "osp-ubuntu": "alibaba aws azure baremetal digitalocean edge gce hetzner kubevirt nutanix openstack " +
      "vmware-cloud-director vsphere",
    "osp-debian": "",
    "osp-rhel": "aws azure kubevirt openstack vsphere",
    "osp-rockylinux": "aws azure digitalocean hetzner openstack kubevirt vsphere",
    "osp-amzn2": "aws",
    "osp-flatcar": "aws azure gce kubevirt openstack vsphere vmware-cloud-director",
    "osp-flatcar-cloud-init": "anexia",
  };
  for (const { metadata: { name }, spec } of await defaultProfiles()) {
    for (const provider of (theirs[name] ?? "none").split(" ").filter((word) => word !== "")) {
      const operatingSystemSpec = { provisioningUtility: spec.provisioningUtility };
      checkProfileFits(spec, { operatingSystem: spec.osName, provider, operatingSystemSpec });
    }
  }
});

Deno.test("default profiles: write secrets only into files that only root can read", () => {
  for (const { label, config } of matrix) {
    for (const { path, permissions, content: { inline: { data } } } of filesOf(config)) {
      const isSecret = data.includes("tok3n") || /p%+40ss/.test(data) || data.includes("reg1stry");
      assert.ok(!isSecret || permissions === 600, `Expected only root to be able to read it: ${label}: ${path}`);
    }
    const holders = filesOf(config).filter(({ content }) => content.inline.data.includes("tok3n"));
    assert.deepEqual(new Set(holders.map(({ path }) => path)), new Set(["/etc/ostler/token"]), label);
  }
});

Deno.test("default profiles: contain no secret in the config that is shown in the cluster", () => {
  for (const [{ label }, config] of shown) {
    const seen = phases.map((phase) => userData(config, phase)).join("") + JSON.stringify(config);
    for (const secret of ["tok3n", "p%40ss", "reg1stry"]) {
      assert.equal(seen.includes(secret), false, `${label}: ${secret}`);
    }
  }
});

Deno.test("default profiles: their scripts are bash, verify TLS certificates and do not print their commands", async () => {
  const scripts = new Map<string, string>();
  for (const { label, config } of matrix) {
    for (const { path, permissions, content: { inline: { data } } } of filesOf(config)) {
      if (!path.startsWith("/opt/bin/")) continue;
      assert.equal(permissions, 755, `${label}: ${path}`);
      assert.match(data, /^#!\/usr\/bin\/env bash\n/, `${label}: ${path}`);
      scripts.set(data, `${label}: ${path}`);
    }
  }
  for (const [text, where] of scripts) {
    assert.doesNotMatch(text, /--insecure|\s-k\s|curl -k|set -[a-z]*x|--verbose/, where);
    assert.doesNotMatch(text, /\bjq\b|python/, where);
  }
  for (const [text, where] of scripts) await parsesAsBash(where, text);
});

async function parsesAsBash(where: string, text: string): Promise<void> {
  const child = new Deno.Command("bash", { args: ["-n"], stdin: "piped", stderr: "piped", stdout: "null" }).spawn();
  const writer = child.stdin.getWriter();
  await writer.write(new TextEncoder().encode(text));
  await writer.close();
  const { success, stderr } = await child.output();
  assert.ok(success, `${where}: ${new TextDecoder().decode(stderr)}`);
}

Deno.test("default profiles: with all mirrors and a proxy set, have URLs of no other host than these and the API server", () => {
  const near = /^https?:\/\/(mirror\.test|user:p%%?40ss@proxy\.test|\[2001:db8::10\])/;
  for (const { label, spec, config } of matrix.filter(({ label }) => label.endsWith("everything said"))) {
    for (const { path, content: { inline: { data } } } of filesOf(config)) {
      for (const [url] of data.replaceAll(/^Documentation=.*$/gm, "").matchAll(/https?:\/\/[^\s"'$]+/g)) {
        // The entry of docker.io itself only names the upstream of the mirror.
        if (path.endsWith("/docker.io/hosts.toml") && url.startsWith("https://registry-1.docker.io")) continue;
        assert.match(url, near, `${label}: ${path}`);
      }
    }
    const mirrored = filesOf(config).some(({ content }) => content.inline.data.includes("https://mirror.test/rocky"));
    assert.equal(mirrored, spec.osName === "rockylinux", label);
  }
});

Deno.test("default profiles: their bootstrap user-data fits into the 16 KiB of aws with a token of 1,500 bytes", () => {
  const body = `${"TUlJQgaEV".repeat(7)}/\n`.repeat(25);
  const caPem = `-----BEGIN CERTIFICATE-----\n${body}-----END CERTIFICATE-----\n`;
  for (const { label, config } of matrix) {
    const files = config.bootstrapConfig.files.map((file) =>
      file.path === "/etc/ostler/ca.crt"
        ? { ...file, content: { inline: { ...file.content.inline, data: caPem } } }
        : file
    );
    const size = bytesOf(userData({ ...config, bootstrapConfig: { ...config.bootstrapConfig, files } }, "bootstrap"));
    assert.ok(size < 16 * 1024, `${label}: ${size} bytes`);
  }
});

Deno.test("default profiles: the kubelet unit sets --node-ip on a dual-stack network, unless an external cloud provider sets the address", () => {
  const dual = rendered.filter(({ situation }) => situation.startsWith("two families"));
  assert.equal(dual.length, matrix.length);
  for (const { label, situation, config } of dual) {
    const isExternal = situation.endsWith("external provider");
    const unit = filesOf(config).find(({ path }) => path.endsWith("/kubelet.service"))?.content.inline.data ?? "";
    assert.equal(unit.includes("--node-ip=${KUBELET_NODE_IP}"), !isExternal, label);
    assert.equal(unit.includes("--cloud-provider=external"), isExternal, label);
  }
});

Deno.test("default profiles: a simulated machine finds hostname, token and kubeconfig Secret in the user-data of cloud-init", () => {
  const booted = rendered.filter(({ situation, config }) =>
    situation === "with a real CA" && config.osName !== "flatcar" && config.cloudProvider.name !== "aws"
  );
  for (const { label, config } of booted) {
    const first = userData(config, "bootstrap").replaceAll("<MACHINE_NAME>", "machine-1");
    const { hostname, access, provisioning } = readBootstrap(parseCloudConfig(first, label));
    // On edge the profile itself names the machine; elsewhere machine-controller replaces <MACHINE_NAME>.
    const name = config.cloudProvider.name === "edge" ? "pool" : "machine-1";
    assert.deepEqual([hostname, access.token], [name, "test-token"], label);
    assert.equal(provisioning.name, "pool-kube-system-provisioning-config");
    const second = readProvisioning(parseCloudConfig(userData(config, "provisioning"), label), access.ca);
    assert.equal(second.kubeconfigSecret, "kube-system-pool-kubelet-bootstrap-config");
  }
  assert.equal(new Set(booted.map(({ config }) => config.osName)).size, 4);
});

Deno.test("fault P6: a node registers with its template's taints, which replace taints of the settings with the same key and effect", async () => {
  const ubuntu = (await defaultProfiles()).find(({ metadata }) => metadata.name === "osp-ubuntu")?.spec;
  assert.ok(ubuntu);
  const taints = [{ key: "dedicated", value: "gpu", effect: "NoSchedule" }, { key: "spot", effect: "NoExecute" }];
  const settings = { initialTaints: "dedicated=any:NoSchedule,node.cilium.io/agent-not-ready=true:NoExecute" };
  const config = await renderConfig(ubuntu, renderFacts({ deployment: { taints }, settings }));
  const unit = filesOf(config).find(({ path }) => path.endsWith("/kubelet.service"))?.content.inline.data ?? "";
  const wanted = "node.cilium.io/agent-not-ready=true:NoExecute,dedicated=gpu:NoSchedule,spot:NoExecute";
  assert.ok(unit.includes(` --register-with-taints=${wanted} `), unit);
});

Deno.test("fault P2: a config renders for kubelets up to three minors older than the oldest supported API server, without fields that these kubelets do not know", async () => {
  const ubuntu = (await defaultProfiles()).find(({ metadata }) => metadata.name === "osp-ubuntu")?.spec;
  assert.ok(ubuntu);
  const known = { "1.30.14": [], "1.31.14": ["failCgroupV1"], "1.32.9": ["failCgroupV1", "WatchdogSec"] };
  for (const [kubelet, fields] of Object.entries(known)) {
    const files = filesOf(await renderConfig(ubuntu, renderFacts({ deployment: { kubelet } })));
    const text = files.map(({ content }) => content.inline.data).join("\n");
    assert.ok(text.includes(`KUBELET_VERSION="v${kubelet}"`), kubelet);
    assert.ok(text.includes(`CRICTL_VERSION="v${kubelet.slice(0, 4)}.0"`), kubelet);
    // A kubelet older than 1.32 feeds no watchdog, so with WatchdogSec systemd would stop it every minute.
    assert.deepEqual(["failCgroupV1", "WatchdogSec"].filter((field) => text.includes(field)), fields, kubelet);
  }
});
