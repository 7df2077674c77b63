import assert from "node:assert/strict";
import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { parse } from "yaml";
import { deploymentYaml, FakeTerminal, profileYaml } from "../../support/fake_terminal.ts";

const files = { "osp.yaml": profileYaml(), "md.yaml": deploymentYaml() };

Deno.test("ostler render: shows every file with phase, path and mode, the digest, and no secret", async () => {
  using terminal = new FakeTerminal(files);
  const { code, out, err } = await terminal.run(["render", "osp.yaml", "md.yaml", "--node-http-proxy=http://p:3128"]);
  assert.equal(err, "");
  assert.equal(code, 0);
  assert.match(out, /^profile +osp-acme v1\.0\.0$/m);
  assert.match(out, /^machines +kube-system\/pool, kubelet 1\.36\.1 on kubevirt$/m);
  assert.match(out, /^digest +[0-9a-f]{64}$/m);
  assert.ok(out.includes("\n=== bootstrap /etc/motd 0644\npool pool\n"), out);
  assert.ok(out.includes("\n=== provisioning /opt/bin/hello 0755\n#!/bin/sh\necho http://p:3128\n"), out);
  assert.ok(out.includes("\n=== provisioning /etc/containerd/certs.d/docker.io/hosts.toml 0600\n"), out);
});

Deno.test("ostler render: prints the same as JSON and as YAML", async () => {
  using terminal = new FakeTerminal(files);
  const json = await terminal.run(["render", "osp.yaml", "md.yaml", "-o", "json"]);
  const yaml = await terminal.run(["render", "osp.yaml", "md.yaml", "-o", "yaml"]);
  const told = JSON.parse(json.out);
  assert.deepEqual(told, parse(yaml.out));
  assert.deepEqual(told.machineDeployment, { namespace: "kube-system", name: "pool", kubelet: "1.36.1" });
  assert.deepEqual(told.bootstrap.files, [{ path: "/etc/motd", mode: "0644", content: "pool pool\n" }]);
  assert.match(told.bootstrap.userData, /^#cloud-config\n/);
});

Deno.test("ostler render --out: writes files with the paths and modes that machines get, and refuses a folder that is not empty", async () => {
  using terminal = new FakeTerminal(files);
  const { code, out } = await terminal.run(["render", "osp.yaml", "md.yaml", "--out", "tree"]);
  assert.equal(code, 0);
  const tree = join(terminal.directory, "tree");
  assert.deepEqual(readdirSync(tree).sort(), [
    ...["bootstrap", "bootstrap.yaml", "digest", "provisioning", "provisioning.yaml"],
  ]);
  assert.equal(readFileSync(join(tree, "bootstrap/etc/motd"), "utf8"), "pool pool\n");
  assert.equal(statSync(join(tree, "provisioning/opt/bin/hello")).mode & 0o7777, 0o755);
  assert.ok(out.includes(readFileSync(join(tree, "digest"), "utf8").trim()));
  const again = await terminal.run(["render", "osp.yaml", "md.yaml", "--out", "tree"]);
  assert.equal(again.code, 2);
  assert.equal(again.err, `Failed to write to "${tree}": it is not empty; give a new or empty folder\n`);
});

Deno.test("ostler render --out: refuses a file whose path leads out of the folder", async () => {
  const climbing = files["osp.yaml"].replace("/etc/motd", "/../../climbed");
  using terminal = new FakeTerminal({ ...files, "osp.yaml": climbing });
  const { code, err } = await terminal.run(["render", "osp.yaml", "md.yaml", "--out", "deep/er/tree"]);
  assert.equal(code, 2);
  assert.match(err, /^Failed to write file "\/\.\.\/\.\.\/climbed": the path leads out of the folder$/m);
});

Deno.test("ostler render: finds the profiles of Ostler by name, and reads standard input", async () => {
  using terminal = new FakeTerminal();
  const { code, out } = await terminal.run(["render", "osp-ubuntu", "-"], { stdin: deploymentYaml() });
  assert.equal(code, 0);
  assert.match(out, /^profile +osp-ubuntu v/m);
  assert.match(out, /^=== provisioning \/opt\/bin\/setup 0755$/m);
});

Deno.test("ostler render: finds parents in other files, in folders, and among the profiles of Ostler", async () => {
  const child = profileYaml({ name: "osp-child" }).replace(
    "osName: ubuntu",
    "osName: ubuntu\n  extends: { name: osp-acme }",
  );
  const added = child.replace("/etc/motd", "/etc/child");
  using terminal = new FakeTerminal({ "md.yaml": deploymentYaml("osp-child"), "parents/osp.yaml": profileYaml() });
  terminal.write("child.yaml", added);
  terminal.write("both.yaml", `${added}---\n${profileYaml()}`);
  for (
    const args of [["child.yaml", "md.yaml", "-f", "parents"], ["child.yaml", "md.yaml", "-f", "parents/osp.yaml"], [
      "both.yaml",
      "md.yaml",
    ]]
  ) {
    const { code, out, err } = await terminal.run(["render", ...args]);
    assert.equal(err, "");
    assert.equal(code, 0);
    assert.match(out, /^=== bootstrap \/etc\/motd 0644\npool pool\n\n=== bootstrap \/etc\/child 0644$/m);
  }
});

Deno.test("ostler render --config: reads settings from a file, and prefers a flag to the file", async () => {
  using terminal = new FakeTerminal({ ...files, "settings.yaml": "node-http-proxy: http://file:1\ntask-queue: x\n" });
  const args = ["render", "osp.yaml", "md.yaml", "--config", "settings.yaml"];
  const fromFile = await terminal.run(args);
  assert.match(fromFile.out, /^echo http:\/\/file:1$/m);
  assert.equal(fromFile.err, "settings.yaml: ignored, because these are not settings of machines: task-queue\n");
  const fromFlag = await terminal.run([...args, "-node-http-proxy", "http://flag:1"]);
  assert.match(fromFlag.out, /^echo http:\/\/flag:1$/m);
});

Deno.test("ostler render: exits with 2 and describes the cause for each kind of invalid input", async () => {
  using terminal = new FakeTerminal({
    ...files,
    "broken.yaml": "kind: MachineDeployment\nmetadata: {\n",
    "half.yaml": "kind: MachineDeployment\nmetadata:\n  name: 3\nspec: {}\n",
    "other.yaml": "kind: ConfigMap\n",
    "two.yaml": `${profileYaml({ name: "osp-a" })}---\n${profileYaml({ name: "osp-b" })}`,
    "missing.yaml": profileYaml({ data: "one\n<%= it.nope %>" }),
    "gone.yaml": profileYaml({ more: "  extends: { name: osp-gone }\n" }),
    "list.yaml": "[]\n",
  });
  const cases: [string[], RegExp][] = [
    [["nope.yaml", "md.yaml"], /^Failed to read "nope\.yaml": it does not exist$/m],
    [
      ["osp-nope", "md.yaml"],
      /^Failed to find profile "osp-nope": no file and no profile has this name; built-in profiles are osp-ubuntu, /m,
    ],
    [["md.yaml", "md.yaml"], /^Failed to use "md\.yaml": it has no OperatingSystemProfile$/m],
    [
      ["two.yaml", "md.yaml"],
      /^Failed to choose a profile of "two\.yaml": annotation .* must name one of osp-a, osp-b$/m,
    ],
    [
      ["missing.yaml", "md.yaml"],
      /^missing\.yaml:17: Failed to render file "\/etc\/motd": line 2: it\.nope is missing$/m,
    ],
    [["gone.yaml", "md.yaml"], /^gone\.yaml:1: Failed to extend profile "osp-gone": it does not exist$/m],
    [["osp.yaml", "broken.yaml"], /^broken\.yaml:3: Failed to read YAML: /m],
    [["osp.yaml", "half.yaml"], /^half\.yaml:3: Failed to read the MachineDeployment: metadata\.name: /m],
    [["osp.yaml", "other.yaml"], /^Failed to use "other\.yaml": it has no MachineDeployment; exactly 1 is required$/m],
    [["osp.yaml", "md.yaml", "--cluster-dns", "x"], /--cluster-dns "x": must be comma-separated IP addresses/],
    [
      ["osp.yaml", "md.yaml", "--config", "list.yaml"],
      /^Failed to read "list\.yaml": it is not a mapping of settings$/m,
    ],
    [["osp.yaml", "md.yaml", "--bogus"], /unknown option '--bogus'/],
    [["osp.yaml"], /missing required argument 'machine-deployment'/],
  ];
  for (const [args, says] of cases) {
    const { code, out, err } = await terminal.run(["render", ...args]);
    assert.match(err, says);
    assert.deepEqual([code, out], [2, ""]);
  }
});

Deno.test("ostler render --out: writes the last of two files with the same path, and refuses a path that is both file and folder", async () => {
  const twice = (path: string): string => `
      - { path: ${path}, permissions: 400, content: { inline: { data: last } } }
  provisioningConfig:`;
  const withFile = (path: string): string => profileYaml().replace("\n  provisioningConfig:", twice(path));
  using terminal = new FakeTerminal({
    ...files,
    "twice.yaml": withFile("/etc/motd"),
    "below.yaml": withFile("/etc/motd/x"),
  });
  const { code } = await terminal.run(["render", "twice.yaml", "md.yaml", "--out", "tree"]);
  assert.equal(code, 0);
  assert.equal(readFileSync(join(terminal.directory, "tree/bootstrap/etc/motd"), "utf8"), "last");
  const below = await terminal.run(["render", "below.yaml", "md.yaml", "--out", "other"]);
  assert.deepEqual(below, {
    code: 2,
    out: "",
    err: `Failed to write file "/etc/motd/x": the profile uses one path as both a file and a folder\n`,
  });
});

Deno.test("ostler render: hides a cloud-config instead of reading the Secrets that it references", async () => {
  const reference = "{ secretKeyRef: { namespace: kube-system, name: cloud, key: k } }";
  const specs = { gce: `{ serviceAccount: ${reference} }`, vsphere: `{ datacenter: ${reference} }`, azure: "{}" };
  for (const [provider, spec] of Object.entries(specs)) {
    const profile = profileYaml({ data: "{{ .CloudConfig }}" }).replace(": eta", ": go").replace("kubevirt", provider);
    const deployment = deploymentYaml().replace("1.36.1", "1.28.9").replace("kubevirt", provider).replace(
      "cloudProviderSpec: {}",
      `cloudProviderSpec: ${spec}`,
    );
    using terminal = new FakeTerminal({ "osp.yaml": profile, "md.yaml": deployment });
    const { code, out, err } = await terminal.run(["render", "osp.yaml", "md.yaml"]);
    assert.deepEqual([code, err], [0, ""], provider);
    assert.match(out, /^=== bootstrap \/etc\/motd 0644\n<hidden>$/m);
  }
});

Deno.test("ostler render: refuses a profile that does not fit the MachineDeployment", async () => {
  using terminal = new FakeTerminal({ ...files, "md.yaml": deploymentYaml().replace("kubevirt", "gce") });
  const { code, err } = await terminal.run(["render", "osp.yaml", "md.yaml"]);
  assert.equal(code, 2);
  assert.equal(err, `md.yaml:13: Failed to use the profile on provider "gce": supported providers are kubevirt\n`);
});

Deno.test("ostler render: refuses large input before it reads all of it", async () => {
  const large = `# ${"x".repeat(1_600_000)}\n`;
  using terminal = new FakeTerminal({ ...files, "large.yaml": large + profileYaml() });
  for (let part = 0; part < 5; part++) terminal.write(`folder/${part}.yaml`, `# ${"x".repeat(1_400_000)}\n`);
  const cases: [string[], string][] = [
    [["large.yaml", "md.yaml"], 'Failed to read "large.yaml": it exceeds the limit of 1.5 MiB\n'],
    [["/dev/zero", "md.yaml"], 'Failed to read "/dev/zero": it exceeds the limit of 1.5 MiB\n'],
    [["osp.yaml", "large.yaml"], 'Failed to read "large.yaml": it exceeds the limit of 1.5 MiB\n'],
    [
      ["osp.yaml", "md.yaml", "--config", "large.yaml"],
      'Failed to read "large.yaml": it exceeds the limit of 1.5 MiB\n',
    ],
    [
      ["osp.yaml", "md.yaml", "-f", "folder"],
      'Failed to read "folder": its YAML and JSON files together exceed the limit of 6 MiB\n',
    ],
    [
      ["osp.yaml", "md.yaml", "--host-ca-bundle", "/dev/zero"],
      'Invalid settings: --host-ca-bundle "/dev/zero": the file cannot be read (EFBIG)\n',
    ],
  ];
  for (const [args, err] of cases) {
    assert.deepEqual(await terminal.run(["render", ...args]), { code: 2, out: "", err });
  }
});

Deno.test("ostler render: refuses a profile that YAML aliases expand beyond the size limit", async () => {
  const aliases = Array(40).fill("*texts").join(", ");
  const bomb = profileYaml().replace(
    "    files:",
    `    modules: { bootcmd: &texts [${"x".repeat(50_000)}] }\n    files:`,
  )
    .concat(`    modules: { yum_repos: { a: { b: [${aliases}] } } }\n`);
  using terminal = new FakeTerminal({ ...files, "bomb.yaml": bomb });
  const { code, err } = await terminal.run(["render", "bomb.yaml", "md.yaml"]);
  assert.equal(code, 2);
  assert.match(err, /^bomb\.yaml:1: Invalid profile: spec: must have at most 1572864 bytes/);
});

Deno.test("fault P7 ostler render: warns of an annotation that has no effect in spec.template of the MachineDeployment", async () => {
  const key = "v1.kubelet-config.machine-controller.kubermatic.io/MaxPods";
  const misplaced = deploymentYaml().replace(
    "  template:\n",
    `  template:\n    metadata: { annotations: { ${key}: "58" } }\n`,
  );
  using terminal = new FakeTerminal({ ...files, "md.yaml": misplaced });
  const { code, err } = await terminal.run(["render", "osp.yaml", "md.yaml"]);
  assert.equal(code, 0);
  assert.equal(
    err,
    `warning: annotation "${key}" has no effect in spec.template; set it in the metadata of the MachineDeployment\n`,
  );
});

Deno.test("fault P10: ostler render: reports each invalid field with its line and a message in plain words", async () => {
  const kubelet = deploymentYaml().split("\n").findIndex((line) => line.includes("kubelet:")) + 1;
  const provider = deploymentYaml().split("\n").findIndex((line) => line.includes("operatingSystem:")) + 1;
  const cases: [string, string, RegExp][] = [
    ["1.36.1", "1.29.3", new RegExp(`^md\\.yaml:${kubelet}: Unsupported kubelet version "1\\.29\\.3": supported`)],
    [
      "kubelet: 1.36.1",
      "kublet: 1.36.1",
      /^md\.yaml:\d+: Failed .*: spec\.template\.spec\.versions\.kubelet: is missing; it must be/,
    ],
    [
      "operatingSystem: ubuntu",
      "operatingSystem: 5",
      new RegExp(`^md\\.yaml:${provider}: .*operatingSystem: must be a text`),
    ],
    [
      "operatingSystem: ubuntu",
      "operatingSystem: rhel",
      new RegExp(`^md\\.yaml:${provider}: Failed to use the profile: `),
    ],
  ];
  for (const [before, after, message] of cases) {
    using terminal = new FakeTerminal({ ...files, "md.yaml": deploymentYaml().replace(before, after) });
    const { code, err } = await terminal.run(["render", "osp.yaml", "md.yaml"]);
    assert.notEqual(code, 0, after);
    assert.match(err, message);
  }
  using terminal = new FakeTerminal({
    ...files,
    "bad.yaml": profileYaml().replace(/ osName: .*/, " osName: [ubuntu]"),
  });
  const { code, err } = await terminal.run(["render", "bad.yaml", "md.yaml"]);
  assert.equal(code, 2);
  assert.match(err, /^bad\.yaml:[3-9]: Invalid profile: osName: must be one of "flatcar", /);
});
