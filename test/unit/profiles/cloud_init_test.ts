import assert from "node:assert/strict";
import { loadYaml } from "@kubernetes/client-node";
import { generateUserData, type OsConfig, type OsFile, ProfileRefused } from "../../../profiles/mod.ts";

interface Parsed {
  hostname?: string;
  ssh_authorized_keys: string[];
  write_files: { path: string; permissions: string; encoding?: string; content: string }[];
  [module: string]: unknown;
}

const nasty = [
  ...[
    "",
    " ",
    "\n",
    "\n\n",
    "x",
    "x\n",
    "x\n\n",
    "  indented\nless\n",
    "\ttab\n",
    "a: b",
    "- x",
    "# no comment",
    "key: |",
  ],
  ...["'", '"', "\\", 'it\'s "both"', "%YAML", "---\n...\n", "@at", "`tick`", "*star", "&and", "!tag", "? q", "> fold"],
  ...[
    "{{ .Go }}",
    "<%= eta %>",
    "trailing \nspaces\t\n",
    "a\r\nb\r\n",
    "\0\x01\x1b",
    "\x7f\x85\xa0",
    "\u2028\u2029\ufeff",
  ],
  ...["emoji 🦭", "\ud800 alone", "null", "true", "0644", "1e3", "=", "~", "<MACHINE_NAME>", `x\n${" ".repeat(3)}y\n`],
];

function file(path: string, data: string, encoding?: string): OsFile {
  return { path, permissions: 644, content: { inline: encoding === undefined ? { data } : { encoding, data } } };
}

function configOf(files: OsFile[], provider = "kubevirt"): OsConfig {
  const phase = { files, userSSHKeys: [] };
  return {
    osName: "ubuntu",
    osVersion: "24.04",
    cloudProvider: { name: provider, spec: {} },
    bootstrapConfig: phase,
    provisioningConfig: phase,
    provisioningUtility: "cloud-init",
  };
}

function parse(config: OsConfig, phase: "bootstrap" | "provisioning" = "provisioning", extra: OsFile[] = []): Parsed {
  const text = generateUserData(config, phase, extra);
  assert.ok(text.startsWith("#cloud-config\n"));
  return loadYaml<Parsed>(text);
}

Deno.test("generateUserData gives every content back unchanged, plain and in base64", () => {
  const files = nasty.flatMap((text, at) => [file(`/plain/${at}`, text), file(`/b64/${at}`, text, "b64")]);
  const { write_files: written } = parse(configOf(files));
  for (const [at, text] of nasty.entries()) {
    assert.equal(written[2 * at]?.content, text, JSON.stringify(text));
    const decoded = Buffer.from(written[2 * at + 1]?.content ?? "", "base64").toString();
    assert.equal(decoded, text.toWellFormed(), JSON.stringify(text));
  }
});

Deno.test("generateUserData keeps nasty paths, keys and commands as they are", () => {
  const config = configOf(nasty.map((text) => file(`/${text}`, "x")));
  const keys = nasty.map((text) => `ssh-rsa ${text}x`);
  config.provisioningConfig = {
    ...config.provisioningConfig,
    userSSHKeys: [...keys, ` ${keys[0]} `, "", " "],
    modules: { bootcmd: nasty, runcmd: nasty, rh_subscription: { username: "a: b", "auto-attach": "true" } },
    units: [{ name: "a.service", enable: true, dropIns: [{ name: "1.conf", content: "[Unit]\n" }] }],
  };
  const parsed = parse(config);
  assert.deepEqual(parsed.write_files.map(({ path }) => path), nasty.map((text) => `/${text}`));
  assert.deepEqual(parsed.ssh_authorized_keys, [...new Set(keys)]);
  assert.deepEqual([parsed["bootcmd"], parsed["runcmd"]], [nasty, nasty]);
  assert.deepEqual(parsed["rh_subscription"], { username: "a: b", "auto-attach": "true" });
  const dropIns = [{ name: "1.conf", content: "[Unit]\n" }];
  const unit = { name: "a.service", enable: true, command: "start", mask: false, drop_ins: dropIns };
  assert.deepEqual(parsed["coreos"], { units: [unit] });
});

Deno.test("generateUserData names the machine on bootstrap, except on aws", () => {
  assert.match(generateUserData(configOf([]), "bootstrap", []), /^#cloud-config\nhostname: <MACHINE_NAME>\n/);
  const named = parse(configOf([]), "bootstrap").write_files;
  assert.deepEqual(named, [{ path: "/etc/machine-name", permissions: "0600", content: "<MACHINE_NAME>" }]);
  for (
    const text of [generateUserData(configOf([], "aws"), "bootstrap"), generateUserData(configOf([]), "provisioning")]
  ) {
    assert.equal(text.includes("MACHINE_NAME"), false);
  }
});

Deno.test("generateUserData writes permissions in four digits and puts extra files last", () => {
  const files = [7, 44, 600, 1755].map((permissions) => ({ ...file("/f", "x"), permissions }));
  const token = { ...file("/etc/ostler/token", "secret"), permissions: 600 };
  const { write_files: written } = parse(configOf(files), "provisioning", [token]);
  assert.deepEqual(written.map(({ permissions }) => permissions), ["0007", "0044", "0600", "1755", "0600"]);
  assert.equal(written.at(-1)?.path, "/etc/ostler/token");
});

Deno.test("generateUserData refuses a utility that it cannot write for", () => {
  const config: OsConfig = { ...configOf([]), provisioningUtility: "ignition" };
  assert.throws(
    () => generateUserData(config, "bootstrap", []),
    (error) =>
      error instanceof ProfileRefused && error.reason === "ProfileInvalid" && error.message.includes("ignition"),
  );
});
