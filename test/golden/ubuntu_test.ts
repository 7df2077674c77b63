import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { loadYaml } from "@kubernetes/client-node";
import {
  bytesOf,
  closeTemplateEngines,
  configDigest,
  defaultProfiles,
  generateUserData,
  type OsConfig,
  type Phase,
  renderConfig,
} from "../../profiles/mod.ts";

interface CloudConfig {
  hostname?: string;
  ssh_authorized_keys: string[];
  write_files: { path: string; permissions: string; encoding?: string; content: string }[];
  runcmd?: string[];
}

const folder = fileURLToPath(new URL("./ubuntu/", import.meta.url));
const isUpdate = process.env["GOLDEN"] === "update";
const phases: Phase[] = ["bootstrap", "provisioning"];
const token = { path: "/etc/ostler/token", permissions: 600, content: { inline: { data: "golden-token" } } };

async function render(name: string): Promise<OsConfig> {
  const [profile] = await defaultProfiles();
  assert.ok(profile);
  try {
    return await renderConfig(profile.spec, JSON.parse(await readFile(join(folder, name, "input.json"), "utf8")));
  } finally {
    await closeTemplateEngines();
  }
}

/** Everything that a case records: the user-data of both phases, and their files as they stand on a machine. */
function recordOf(config: OsConfig): Map<string, string> {
  const record = new Map([["digest", `${configDigest(config)}\n`]]);
  for (const phase of phases) {
    record.set(`${phase}.yaml`, generateUserData(config, phase, [token]));
    for (const { path, content } of config[`${phase}Config`].files) record.set(phase + path, content.inline.data);
  }
  return record;
}

function recorded(name: string): Map<string, string> {
  const expected = join(folder, name, "expected");
  const entries = readdirSync(expected, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  return new Map(entries.map((entry) => {
    const path = join(entry.parentPath, entry.name);
    return [path.slice(expected.length + 1), readFileSync(path, "utf8")];
  }));
}

async function rewrite(name: string, record: Map<string, string>): Promise<void> {
  await rm(join(folder, name, "expected"), { recursive: true, force: true });
  for (const [path, text] of record) {
    const target = join(folder, name, "expected", path);
    await mkdir(dirname(target), { recursive: true });
    await writeFile(target, text);
  }
}

async function parsesAsBash(path: string, text: string): Promise<void> {
  const child = new Deno.Command("bash", { args: ["-n"], stdin: "piped", stderr: "piped", stdout: "null" }).spawn();
  const writer = child.stdin.getWriter();
  await writer.write(new TextEncoder().encode(text));
  await writer.close();
  const { success, stderr } = await child.output();
  assert.ok(success, `${path}: ${new TextDecoder().decode(stderr)}`);
}

for (const name of readdirSync(folder)) {
  Deno.test(`the Ubuntu profile renders case ${name} as recorded`, async () => {
    const record = recordOf(await render(name));
    if (isUpdate) await rewrite(name, record);
    const expected = recorded(name);
    assert.deepEqual([...record.keys()].sort(), [...expected.keys()].sort());
    for (const [path, text] of record) assert.equal(text, expected.get(path), `${name}: ${path}`);
  });

  Deno.test(`the Ubuntu profile keeps the boot contract in case ${name}`, async () => {
    const config = await render(name);
    for (const phase of phases) {
      const parsed = loadYaml<CloudConfig>(generateUserData(config, phase, [token]));
      const written = new Map(parsed.write_files.map((file) => [file.path, file]));
      const text = (path: string): string => Buffer.from(written.get(path)?.content ?? "", "base64").toString();
      for (const file of config[`${phase}Config`].files) {
        const { content, encoding } = written.get(file.path) ?? {};
        const decoded = encoding === "b64" ? Buffer.from(content ?? "", "base64").toString() : content;
        assert.equal(decoded, file.content.inline.data, file.path);
        if (decoded?.startsWith("#!")) await parsesAsBash(file.path, decoded);
      }
      assert.deepEqual(written.get("/etc/ostler/token"), {
        path: "/etc/ostler/token",
        permissions: "0600",
        content: "golden-token",
      });
      if (phase === "bootstrap") {
        assert.equal(parsed.hostname, config.cloudProvider.name === "aws" ? undefined : "<MACHINE_NAME>");
        assert.equal(written.has("/etc/machine-name"), config.cloudProvider.name !== "aws");
        assert.match(
          text("/etc/ostler/boot.env"),
          /^API_SERVER="https:.*"\nSECRET_NAMESPACE=".+"\nSECRET_NAME=".+"\n$/,
        );
        assert.ok(parsed.runcmd?.some((command) => command.includes("bootstrap.service")));
      } else {
        assert.match(text("/etc/ostler/setup.env"), /^KUBELET_VERSION="v1\..+"\nBOOTSTRAP_KUBECONFIG_SECRET=".+"\n/);
        assert.equal(loadYaml<{ kind: string }>(text("/etc/kubernetes/kubelet.conf")).kind, "KubeletConfiguration");
      }
    }
  });

  Deno.test(`the Ubuntu profile fits 16 KiB of bootstrap user-data in case ${name}`, async () => {
    const longToken = { ...token, content: { inline: { data: "t".repeat(1500) } } };
    const size = bytesOf(generateUserData(await render(name), "bootstrap", [longToken]));
    assert.ok(size < 16 * 1024, `${size} bytes`);
  });
}
