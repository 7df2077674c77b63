import assert from "node:assert/strict";
import process from "node:process";
import { loadYaml } from "@kubernetes/client-node";
import { generateUserData, type OsConfig, type OsConfigPhase, type OsFile, type Phase } from "../../../profiles/mod.ts";
import { nastyTexts, shown } from "../../support/nasty_text.ts";
import { hasPyYaml, pyYamlLoad } from "../../support/py_yaml.ts";

interface Parsed {
  hostname?: unknown;
  ssh_authorized_keys: string[] | null;
  write_files: { path: string; permissions: string; encoding?: string; content: string }[] | null;
  coreos?: { units: { name: string; content: string; drop_ins: { name: string; content: string }[] }[] };
  [module: string]: unknown;
}

const seed = Number(process.env["SEED"] ?? 1);
const nasty = [...new Set(nastyTexts(seed, 300))];
const facts = { name: "pool", distUpgradeOnBoot: false };

function file(path: string, data: string, encoding?: string): OsFile {
  return { path, permissions: 644, content: { inline: encoding === undefined ? { data } : { encoding, data } } };
}

function configOf(phase: Partial<OsConfigPhase>, provider = "kubevirt"): OsConfig {
  const config = { files: [], userSSHKeys: [], ...phase };
  return {
    osName: "ubuntu",
    osVersion: "24.04",
    cloudProvider: { name: provider, spec: {} },
    bootstrapConfig: config,
    provisioningConfig: config,
    provisioningUtility: "cloud-init",
  };
}

/** The changes that machine-controller makes to bootstrap user-data before a provider gets it. */
function handedOver(text: string): string {
  return text.replaceAll("<MACHINE_NAME>", "m-1").replaceAll("%3CMACHINE_NAME%3E", "m-1").replace(/^[ \t]+$/gm, "");
}

function parse(config: OsConfig, phase: Phase = "provisioning"): Parsed {
  const written = generateUserData(config, phase, facts);
  assert.ok(written.startsWith("#cloud-config\n"));
  const text = `${phase === "bootstrap" ? handedOver(written) : written}\n`;
  const parsed = loadYaml<Parsed>(text);
  if (hasPyYaml) assert.deepEqual(pyYamlLoad([text])[0]?.value, parsed);
  return parsed;
}

/** The part of a text that a block must keep in both phases: all except final newlines and blanks in blank lines. */
function kept(text: string): string {
  return handedOver(text).replace(/\n+$/, "");
}

for (const phase of ["bootstrap", "provisioning"] as const) {
  Deno.test(`generateUserData: keeps the content of every file of ${phase}, plain and in base64 (seed ${seed})`, () => {
    const files = nasty.flatMap((text, at) => [file(`/plain/${at}`, text), file(`/b64/${at}`, text, "b64")]);
    const written = parse(configOf({ files }), phase).write_files ?? [];
    for (const [at, text] of nasty.entries()) {
      assert.equal(kept(written[2 * at]?.content ?? ""), kept(text), shown(text));
      assert.equal(Buffer.from(written[2 * at + 1]?.content ?? "", "base64").toString(), text, shown(text));
    }
  });

  Deno.test(`generateUserData: keeps every unit and drop-in of ${phase} (seed ${seed})`, () => {
    const units = nasty.map((text) => ({ name: text, content: text, dropIns: [{ name: text, content: text }] }));
    const written = parse(configOf({ units }), phase).coreos?.units ?? [];
    for (const [at, text] of nasty.entries()) {
      const name = phase === "bootstrap" ? text.replaceAll("<MACHINE_NAME>", "m-1") : text;
      const { drop_ins: [dropIn], ...unit } = written[at] ?? assert.fail(shown(text));
      for (const read of [unit, dropIn]) {
        assert.deepEqual([read?.name, kept(read?.content ?? "")], [name, kept(text)], shown(text));
      }
    }
  });
}

Deno.test(`generateUserData: keeps unusual paths, keys, commands and settings unchanged (seed ${seed})`, () => {
  const keys = nasty.map((text) => `ssh-rsa ${text}x`);
  const settings = Object.fromEntries(nasty.map((text) => [`${text}password`, `x${text}`]));
  const modules = {
    ...{ bootcmd: nasty, runcmd: nasty, rh_subscription: settings, yum_repo_dir: `/${nasty[0]}` },
    yum_repos: { ...Object.fromEntries(nasty.map((text) => [text, { name: `x${text}` }])), repo: settings },
  };
  const files = nasty.map((text) => file(`/${text}`, "x", `x${text}`));
  const userSSHKeys = [...keys, ` ${keys[0]}\n`, "", " "];
  const parsed = parse(configOf({ files, userSSHKeys, modules }));
  const written = parsed.write_files?.map(({ path, encoding }) => [path, encoding]);
  assert.deepEqual(written, nasty.map((text) => [`/${text}`, `x${text}`]));
  assert.deepEqual(parsed.ssh_authorized_keys, keys);
  const { bootcmd, runcmd, rh_subscription, yum_repos, yum_repo_dir } = parsed;
  assert.deepEqual({ bootcmd, runcmd, rh_subscription, yum_repos, yum_repo_dir }, modules);
});

Deno.test("generateUserData: writes every command, package and directory as a YAML string", () => {
  const words = ["true", "yes", "null", "~", "", "1", "1.0", "0644", "2026-01-01", "[ls, -l]", "{a: b}", "- x", "# x"];
  const config = configOf({
    modules: { bootcmd: words, runcmd: words, yum_repo_dir: "7" },
    packages: ["on", "7", "jq"],
  });
  const { bootcmd, runcmd, yum_repo_dir, packages } = parse(config);
  assert.deepEqual([bootcmd, runcmd, yum_repo_dir, packages], [words, words, "7", ["on", "7", "jq"]]);
});

Deno.test("generateUserData: quotes strings only when cloud-init would read them differently", () => {
  const subscription = {
    username: "",
    password: "yes",
    "auto-attach": "true",
    org: "1234567",
    "activation-key": "007",
  };
  const repo = { name: "on", enabled: "0", gpgcheck: "true", cost: "1_000", baseurl: "http://repo.example/?a=1&b=2" };
  const modules = { rh_subscription: subscription, yum_repos: { repo, empty: {} }, yum_repo_dir: "/etc/yum.repos.d" };
  const text = generateUserData(configOf({ modules, packages: ["jq"] }), "provisioning", facts);
  assert.equal(
    text.slice(text.indexOf("\nrh_subscription")),
    `
rh_subscription:
    activation-key: '007'
    auto-attach: true
    org: 1234567
    password: 'yes'

yum_repos:
    empty: {}
    repo:
       baseurl: http://repo.example/?a=1&b=2
       cost: '1_000'
       enabled: 0
       gpgcheck: true
       name: 'on'

yum_repo_dir: /etc/yum.repos.d
packages:
- jq
`,
  );
});

Deno.test("generateUserData: registers no RHEL subscription without credentials", () => {
  const rh_subscription = { username: "", password: "", "auto-attach": "false" };
  assert.equal(parse(configOf({ modules: { rh_subscription } })).rh_subscription, undefined);
});

Deno.test("generateUserData: writes permissions in four digits", () => {
  const files = [7, 44, 600, 1755].map((permissions) => ({ ...file("/f", "x"), permissions }));
  const written = parse(configOf({ files })).write_files?.map(({ permissions }) => permissions);
  assert.deepEqual(written, ["0007", "0044", "0600", "1755"]);
});

Deno.test("generateUserData: names the machine on bootstrap, except on aws", () => {
  assert.equal(
    generateUserData(configOf({}), "bootstrap", { ...facts, distUpgradeOnBoot: true }),
    `#cloud-config
hostname: <MACHINE_NAME>

package_upgrade: true
package_reboot_if_required: true
ssh_pwauth: false

write_files:
- path: /etc/machine-name
  permissions: '0600'
  content: |-
        <MACHINE_NAME>
`,
  );
  const named = parse(configOf({}), "bootstrap");
  assert.deepEqual([named.hostname, named.write_files?.[0]?.content], ["m-1", "m-1"]);
  for (const [provider, phase] of [["aws", "bootstrap"], ["kubevirt", "provisioning"]] as const) {
    assert.equal(
      generateUserData(configOf({}, provider), phase, facts),
      "#cloud-config\n\nssh_pwauth: false\n\n",
    );
  }
});

Deno.test("generateUserData: gives an edge machine the name of its pool, always as a string", () => {
  const config = configOf({ files: [file("/f", "<MACHINE_NAME>")] }, "edge");
  const text = generateUserData(config, "bootstrap", { ...facts, name: "123" });
  const { hostname, write_files } = loadYaml<Parsed>(text);
  assert.deepEqual([hostname, write_files?.map(({ content }) => content)], ["123", ["<MACHINE_NAME>", "123"]]);
  assert.match(generateUserData(config, "bootstrap", facts), /^hostname: pool$/m);
});

Deno.test("generateUserData: writes the units of a phase that has no files", () => {
  const parsed = parse(configOf({ units: [{ name: "dev-a\\x2db.device", enable: true }] }, "aws"), "bootstrap");
  assert.equal("write_files" in parsed, false);
  const unit = { name: "dev-a\\x2db.device", enable: true, command: "start", mask: false };
  assert.deepEqual(parsed.coreos, { units: [unit] });
});
