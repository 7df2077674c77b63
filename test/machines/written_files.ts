/** Every file that was published for a machine is on it, byte for byte. */
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { isDeepStrictEqual } from "node:util";
import type { Booted } from "./boot_pools.ts";
import { fileFacts, isThere, output } from "./machine_facts.ts";
import { type OrderedFile, orderedFiles, type Phase, phases, shownFiles } from "./published_boot.ts";

const hidden = "<hidden>";
/** The file with the machine's token, which is deleted when the machine is a node. */
const tokenPath = "/etc/ostler/token";

/** Compares path, mode, owner and content of all files of both phases; differences are named, never shown. */
export async function checkWrittenFiles({ world, pool, name, machine }: Booted): Promise<void> {
  const files = new Map<string, OrderedFile>();
  for (const phase of phases) {
    for (const file of await orderedFiles(world, pool, phase)) files.set(file.path, file);
  }
  assert.equal(await isThere(machine, tokenPath), false, `"${tokenPath}" still exists`);
  files.delete(tokenPath);
  assert.ok(files.size > 25, `Published only ${files.size} files`);
  const found = await fileFacts(machine, [...files.keys()]);
  const wrong = [...files.values()].map(({ path, permissions, content }) => {
    const digest = sha256(content.replaceAll("<MACHINE_NAME>", name));
    return {
      path,
      expected: { mode: permissions.replace(/^0+/, ""), owner: "root:root", digest },
      found: found.get(path),
    };
  }).filter(({ expected, found }) => !isDeepStrictEqual(found, expected));
  assert.deepEqual(wrong, []);
}

/** Expects the visible config to equal the content of the secrets, except for the hidden parts. */
export async function checkShownFiles({ world, pool }: Booted): Promise<void> {
  const hiding = [];
  for (const phase of phases) hiding.push(...await hidingFiles({ world, pool }, phase));
  assert.deepEqual(hiding.sort(), ["/etc/containerd/config.toml", tokenPath, tokenPath]);
}

async function hidingFiles({ world, pool }: Pick<Booted, "world" | "pool">, phase: Phase): Promise<string[]> {
  const shown = await shownFiles(world, pool, phase);
  const ordered = (await orderedFiles(world, pool, phase)).filter(({ path }) => path !== "/etc/machine-name");
  assert.deepEqual(shown.map(({ path }) => path), ordered.map(({ path }) => path));
  for (const [at, { path, permissions = 644, content: { inline: { data } } }] of shown.entries()) {
    const { permissions: digits = "", content = "" } = ordered[at] ?? {};
    assert.equal(Number(digits), permissions, `mode of "${path}"`);
    assert.ok(isAsShown(content, data), `"${path}" of the ${phase} secret is not what the config shows`);
  }
  return shown.filter(({ content: { inline: { data } } }) => data.includes(hidden)).map(({ path }) => path);
}

/** Whether a text equals the visible one, with any text in place of hidden parts. */
function isAsShown(content: string, shown: string): boolean {
  const parts = shown.trimEnd().split(hidden).map((part) => part.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&"));
  return new RegExp(`^${parts.join("[^\\s]+")}$`).test(content.trimEnd());
}

/** Expects the machine's name in place of every placeholder. */
export async function checkName({ name, machine }: Booted): Promise<void> {
  const names = ["hostname", "cat /proc/sys/kernel/hostname", "cat /etc/machine-name", "hostnamectl hostname"];
  for (const command of names) {
    assert.equal((await output(machine, command.split(" "))).trim(), name, `"${command}"`);
  }
  const { stdout } = await machine.run([
    "grep",
    "--recursive",
    "--files-with-matches",
    "<MACHINE_NAME>",
    "/etc",
    "/opt/bin/setup",
  ]);
  assert.equal(stdout, "", "A placeholder is left");
}

function sha256(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}
