import assert from "node:assert/strict";
import { deploymentYaml, FakeTerminal, profileYaml } from "../../support/fake_terminal.ts";

interface Told {
  place: { file: string; line?: number };
  check: string;
  severity: string;
  message: string;
}

async function findingsOf(yaml: string, args: string[] = []): Promise<{ code: number; findings: Told[] }> {
  using terminal = new FakeTerminal({ "osp.yaml": yaml });
  const { code, out } = await terminal.run(["validate", "osp.yaml", "-o", "json", ...args]);
  return { code, findings: JSON.parse(out).findings };
}

Deno.test("ostler validate: finds nothing wrong with a valid profile, and lists what it checked", async () => {
  using terminal = new FakeTerminal({ "osp.yaml": `${profileYaml()}---\n${deploymentYaml()}` });
  const { code, out, err } = await terminal.run(["validate", "osp.yaml"]);
  assert.equal(out, "osp-acme: no findings; 21 renderings for kubevirt\n");
  assert.equal(
    err,
    "checks skipped, because these programs are not installed: cloud-init, shellcheck, systemd-analyze\n",
  );
  assert.equal(code, 0);
});

Deno.test("ostler validate: names file and line of every invalid field", async () => {
  const yaml = profileYaml().replace("osName: ubuntu", "osName: plan9").replace("755", "999").replace(
    'osVersion: "24.04"',
    'osVersion: "24.04"\n  colour: red',
  );
  const { code, findings } = await findingsOf(yaml);
  assert.equal(code, 1);
  const lineOf = (text: string): number => yaml.split("\n").findIndex((line) => line.includes(text)) + 1;
  const found = findings.map(({ place, check, message }) => [place.line, check, message.split(":")[0]]);
  assert.deepEqual(found, [
    [lineOf("plan9"), "schema", "spec.osName"],
    [lineOf("colour"), "schema", "spec.colour"],
    [lineOf("999"), "schema", "spec.provisioningConfig.files.0.permissions"],
  ]);
});

Deno.test("ostler validate: reports a single finding, with file and line, for a template that fails in every rendering", async () => {
  const data = "one\ntwo <%= it.cluster.port %>";
  const yaml = profileYaml({ data });
  const { code, findings } = await findingsOf(yaml);
  assert.equal(code, 1);
  assert.equal(findings.length, 1);
  assert.deepEqual(findings[0]?.place, {
    file: "osp.yaml",
    line: yaml.split("\n").findIndex((line) => line.includes("it.cluster.port")) + 1,
  });
  assert.match(
    findings[0]?.message ?? "",
    /^Failed to render file "\/etc\/motd": line 2: it\.cluster\.port is missing \(on kubevirt /,
  );
});

Deno.test("ostler validate: renders for every provider, kubelet version and network, and names the combination that fails", async () => {
  const data = `<% if (it.kubelet.startsWith("v1.34") && it.network.ipFamily.includes("+")) { it.nothing } %>`;
  const { findings } = await findingsOf(profileYaml({ data }));
  assert.match(
    findings[0]?.message ?? "",
    /it\.nothing is missing \(on kubevirt with kubelet 1\.34\.0, with a dual-stack network\)$/,
  );
});

Deno.test("ostler validate: reports an error of a parent in the parent's file", async () => {
  using terminal = new FakeTerminal({ "parent.yaml": profileYaml({ data: "<%= it.nothing %>" }) });
  terminal.write(
    "child.yaml",
    profileYaml({ name: "osp-child", more: "  extends: { name: osp-acme }\n" }).replace("/etc/motd", "/etc/x"),
  );
  const { code, out } = await terminal.run(["validate", "child.yaml", "-f", "parent.yaml"]);
  assert.equal(code, 1);
  assert.match(
    out,
    /^parent\.yaml:16 +error +render +Failed to render file "\/etc\/motd": line 1: it\.nothing is missing/,
  );
  const gone = await terminal.run(["validate", "child.yaml"]);
  assert.match(gone.out, /^child\.yaml:22 +error +extends +Failed to extend profile "osp-acme": it does not exist$/m);
});

Deno.test("ostler validate: reports invalid YAML as a finding, and continues", async () => {
  using terminal = new FakeTerminal({ "bad.yaml": "kind: X\n  spec: [\n", "osp.yaml": profileYaml() });
  const { code, out } = await terminal.run(["validate", "bad.yaml", "osp.yaml"]);
  assert.equal(code, 1);
  assert.match(out, /^bad\.yaml:\d +error +yaml +/);
  assert.match(out, /^osp-acme: no findings; /m);
});

Deno.test("ostler validate: compares the size of user-data with the limit of a provider", async () => {
  const yaml = profileYaml({ data: "<%= it.name.repeat(9000) %>" }).replace("kubevirt", "hetzner");
  const { code, findings } = await findingsOf(yaml);
  assert.equal(code, 1);
  assert.equal(findings[0]?.check, "size");
  assert.match(
    findings[0]?.message ?? "",
    /^the bootstrap user-data has \d+ bytes; the limit of provider "hetzner" is 32768/,
  );
});

Deno.test("ostler validate: requires --parameter for a parameter whose trial value cannot be guessed", async () => {
  const parameters = `  parameters: { zone: { description: the zone, pattern: "[a-z]+-[0-9]" } }\n`;
  const yaml = profileYaml({ data: "<%= it.parameters.zone %>", more: parameters });
  const { findings } = await findingsOf(yaml);
  assert.match(
    findings[0]?.message ?? "",
    /parameter\.ostler\.dev\/zone.*set a trial value with --parameter NAME=VALUE$/,
  );
  assert.deepEqual(await findingsOf(yaml, ["--parameter", "zone=eu-1"]), { code: 0, findings: [] });
  using terminal = new FakeTerminal({ "osp.yaml": yaml });
  assert.equal((await terminal.run(["validate", "osp.yaml", "--parameter", "zone"])).code, 2);
});

Deno.test("ostler validate: exits with 0 and a warning when no template refers to the packages of the profile", async () => {
  const { code, findings } = await findingsOf(profileYaml({ more: "    packages: [jq]\n" }));
  assert.equal(code, 0);
  assert.deepEqual(findings.map(({ severity, message }) => [severity, message]), [
    [
      "warning",
      "spec.provisioningConfig.packages: no template refers to it.packages, so nothing installs these packages",
    ],
  ]);
  const used = await findingsOf(
    profileYaml({ data: "<%= it.packages %>".replace("packages", "packages.join()"), more: "    packages: [jq]\n" }),
  );
  assert.deepEqual(used.findings, []);
});

Deno.test("ostler validate: shows its progress on a terminal", async () => {
  using terminal = new FakeTerminal({ "osp.yaml": profileYaml() });
  const { err } = await terminal.run(["validate", "osp.yaml"], { isErrWatched: true });
  assert.ok(err.includes("\r\x1b[Kosp-acme: rendering 21 of 21"), JSON.stringify(err));
});

Deno.test("ostler validate: finds nothing wrong with the profiles of Ostler", async () => {
  using terminal = new FakeTerminal();
  const { code, out } = await terminal.run(["validate", "osp-amzn2", "osp-flatcar-cloud-init"]);
  assert.equal(code, 0, out);
  assert.match(out, /^osp-amzn2: no findings; 21 renderings for aws$/m);
  assert.match(out, /^osp-flatcar-cloud-init: no findings; 21 renderings for anexia$/m);
});

/** Names of providers; `ostler validate` renders a profile in many combinations for each. */
const many = ["aws", "azure", "gce", "hetzner", "kubevirt", "linode", "nutanix", "openstack", "vsphere", "anexia"];

Deno.test("ostler validate: stops the check of a profile when the output of a template exceeds 4 MiB", async () => {
  const yaml = profileYaml({ data: `<%= "x".repeat(5_000_000) %>` })
    .replace("{ name: kubevirt }", many.map((name) => `{ name: ${name} }`).join(", "));
  using terminal = new FakeTerminal({ "osp.yaml": yaml });
  const { code, out } = await terminal.run(["validate", "osp.yaml", "-o", "json"]);
  const { profiles, findings } = JSON.parse(out);
  assert.deepEqual([code, profiles[0].renderings, findings.length], [1, 0, 1]);
  assert.match(
    findings[0].message,
    /^Failed to render file "\/etc\/motd": it made more than 4194304 bytes; the check of this profile stopped \(on aws with /,
  );
});

Deno.test("ostler validate: stops at --timeout during a rendering, and names the unfinished profile", async () => {
  using terminal = new FakeTerminal({ "osp.yaml": profileYaml({ data: "<% for (;;); %>" }) });
  const started = performance.now();
  const { code, out, err } = await terminal.run(["validate", "osp.yaml", "--timeout", "1s"]);
  assert.equal(code, 3);
  assert.equal(out, "osp-acme: not finished, no findings; not rendered\n");
  assert.match(err, /^Failed to check all profiles within 1s: checks of osp-acme did not finish; extend --timeout$/m);
  assert.ok(performance.now() - started < 4_000, "Expected not to wait for the rendering");
});

Deno.test("fault P1: ostler validate warns of an unknown provider, and renders for the known ones", async () => {
  const yaml = profileYaml().replace("[{ name: kubevirt }]", "[{ name: kubevirt }, { name: equinixmetal }]");
  const { code, findings } = await findingsOf(yaml);
  assert.equal(code, 0);
  assert.deepEqual(findings.map(({ severity, message }) => [severity, message]), [
    [
      "warning",
      'spec.supportedCloudProviders.1.name: "equinixmetal" is not a known provider; no pool on it can use the profile',
    ],
  ]);
  using terminal = new FakeTerminal({ "osp.yaml": yaml });
  assert.match((await terminal.run(["validate", "osp.yaml"])).out, /21 renderings for kubevirt$/m);
});

const flatcar = (data: string): string =>
  profileYaml().replace("osName: ubuntu", "osName: flatcar\n  provisioningUtility: ignition").replace(
    "  bootstrapConfig:\n",
    `  bootstrapConfig:\n    units:\n${data}`,
  );

Deno.test("fault P4: ostler validate warns of a path that Ignition writes twice", async () => {
  const { findings } = await findingsOf(flatcar("      - { name: a.service }\n      - { name: a.service }\n"));
  const [found] = findings.filter(({ check }) => check === "user-data");
  assert.equal(found?.severity, "warning");
  assert.match(found?.message ?? "", /unit "a\.service": it is defined twice; Ignition fails on the machine$/);
  const text = flatcar("      - { name: a.service }\n      - { name: a.service }\n");
  assert.equal(found?.place.line, text.split("\n").findLastIndex((line) => line.includes("a.service")) + 1);
  const newer = await findingsOf(text.replace("provisioningUtility: ignition", "$&\n  ignitionVersion: 3.3.0"));
  assert.deepEqual(newer.findings.map(({ severity, place }) => [severity, place.line]), [
    ["error", (found?.place.line ?? 0) + 1],
  ]);
});

Deno.test("fault P8: ostler validate warns of containerd 1.x with a configuration of version 3", async () => {
  const config =
    "      - { path: /etc/containerd/config.toml, content: { inline: { data: <%~ it.containerdConfig %> } } }\n";
  const yaml = (version: string): string =>
    profileYaml({ data: `apt-get install -y containerd.io=${version}` }).replace(
      "  provisioningConfig:\n    files:\n",
      `  provisioningConfig:\n    files:\n${
        config.replace("<%~ it.containerdConfig %>", '"<%~ it.containerdConfig %>"')
      }`,
    );
  const messagesOf = async (version: string): Promise<string[]> =>
    (await findingsOf(yaml(version))).findings.map(({ message }) => message);
  assert.match((await messagesOf("1.7.27-1")).join(), /installs containerd 1\.x, which cannot read config version 3/);
  assert.deepEqual(await messagesOf("2.1.4-1"), []);
});

Deno.test("fault P10: ostler validate: reports each unknown field with its line, and each missing field, in plain words", async () => {
  const yaml = profileYaml({ more: "  colour: red\n  size: 1\n" }).replace("  osVersion:", "  oVersion:");
  const lineOf = (text: string): number => yaml.split("\n").findIndex((line) => line.includes(text)) + 1;
  const { code, findings } = await findingsOf(yaml);
  assert.equal(code, 1);
  const told = findings.map(({ place, message }) => [place.line, message]);
  for (const field of ["oVersion", "colour", "size"]) {
    assert.deepEqual(told.filter(([, message]) => message === `spec.${field}: unknown field`), [
      [lineOf(`  ${field}:`), `spec.${field}: unknown field`],
    ]);
  }
  assert.ok(told.some(([, message]) => message === "spec.osVersion: is missing; it must be a text"));
});
