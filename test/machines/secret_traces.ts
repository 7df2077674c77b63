/** Where secret bytes are on a machine: in the files that are made to keep them, and nowhere else. */
import { loadYaml } from "@kubernetes/client-node";
import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { getContainerRuntimeClient } from "testcontainers";
import type { Booted } from "./boot_pools.ts";
import { output, shell } from "./machine_facts.ts";
import { machineToken, namesIn, orderedFiles, secretText } from "./published_boot.ts";

/** Secret texts by name; only these names are ever shown. */
type Secrets = Map<string, string>;

/** All secrets of a machine's boot, as text and as base64. */
export async function secretsOf({ world, pool }: Pick<Booted, "world" | "pool">): Promise<Secrets> {
  const kubeconfig = await secretText(world, namesIn(pool).kubeletBootstrap, "kubeconfig");
  const joinToken = loadYaml<{ users: { user: { token: string } }[] }>(kubeconfig).users[0]?.user.token ?? "";
  const files = await orderedFiles(world, pool, "provisioning");
  const config = files.find(({ path }) => path === "/etc/containerd/config.toml")?.content ?? "";
  const [, password = ""] = /password = ["']([^"']+)["']/.exec(config) ?? [];
  const token = await machineToken(world, pool);
  const plain = { "machine token": token, "join token": joinToken, "registry password": password };
  for (const [name, text] of Object.entries(plain)) assert.ok(text.length > 20, `The ${name} was not found`);
  const encoded = {
    "machine token's file": `${token}\n`,
    "join kubeconfig": kubeconfig,
    "containerd's config": config,
  };
  return new Map([
    ...Object.entries(plain),
    ["join token's secret half", joinToken.split(".")[1] ?? ""],
    ...Object.entries(encoded).map(([name, text]): [string, string] => [`${name} in base64`, encode(text)]),
  ]);
}

// Returns base64 without its last 8 characters, because they depend on the text that follows in a longer text.
function encode(text: string): string {
  const whole = Buffer.from(text).toString("base64");
  return whole.slice(0, whole.length - 8);
}

/** Names the secrets in a text. */
export function tracesIn(text: string, secrets: Secrets): string[] {
  return [...secrets].filter(([, secret]) => text.includes(secret)).map(([name]) => name);
}

/** Records arguments and environments of all processes until the machine is a node; each is recorded once. */
export async function watchProcesses({ machine }: Booted): Promise<string> {
  const script = `for ((look = 0; look < 3000; look++)); do
    cat /proc/[0-9]*/cmdline /proc/[0-9]*/environ 2>/dev/null | tr '\\0' '\\n'
    [[ ! -e /etc/ostler/setup-complete ]] || break
    sleep 0.1
  done | sort --unique`;
  return await shell(machine, script);
}

/** Expects no secret where people and their tools read: journal, console, logs, process list. */
export async function checkNowhereShown(booted: Booted, seenWhileBooting: string): Promise<void> {
  const { machine } = booted;
  const secrets = await secretsOf(booted);
  const places: Record<string, string> = {
    "the process list while booting": seenWhileBooting,
    "the process list": await shell(machine, "ps auxww; cat /proc/[0-9]*/cmdline | tr '\\0' ' '"),
    "the environment of a process": await shell(machine, "cat /proc/[0-9]*/environ 2>/dev/null || true"),
    "the journal": await output(machine, ["journalctl", "--all", "--no-pager", "--output=export"]),
    "a log": await shell(machine, "find /var/log -type f ! -path '/var/log/journal/*' -exec cat {} +"),
    "the console": await consoleOf(machine.id),
    "systemd's settings": await shell(machine, "systemctl show '*'; systemctl show-environment"),
  };
  // The search works: texts that are not secret are found.
  const known = { "the process list while booting": "/opt/bin/setup", "the process list": "/opt/bin/kubelet" };
  for (const [place, text] of Object.entries({ ...known, "the journal": "kubelet", "a log": "Cloud-init v." })) {
    assert.ok(places[place]?.includes(text), `"${text}" was not found in ${place}`);
  }
  for (const [place, text] of Object.entries(places)) {
    assert.deepEqual(tracesIn(text, secrets), [], `${place} shows secrets`);
  }
}

async function consoleOf(id: string): Promise<string> {
  const { container: { dockerode } } = await getContainerRuntimeClient();
  return (await dockerode.getContainer(id).logs({ stdout: true, stderr: true })).toString();
}

/**
 * Files that may have secrets, and which secrets: the user-data that cloud-init keeps, and containerd's credentials.
 * The join token is deleted once the kubelet has its own certificate.
 */
const keepers: [path: RegExp, secrets: RegExp][] = [
  [/^\/(var\/lib\/cloud\/instances\/[^/]+\/(user-data\.txt(\.i)?|cloud-config\.txt|obj\.pkl))$/, /^machine token/],
  [/^\/run\/cloud-init\/(instance-data-sensitive|combined-cloud-config)\.json$/, /^machine token/],
  [/^\/etc\/containerd\/config\.toml$/, /^registry password$/],
];

/** Expects secret bytes only in files that are made for them, and readable only for root. */
export async function checkKeepers(booted: Booted): Promise<void> {
  const { machine } = booted;
  const secrets = await secretsOf(booted);
  const found = (await filesWith(booted, secrets)).filter(([path]) => !path.startsWith("/var/log/journal/"));
  assert.ok(found.length >= 3, "The search finds nothing");
  for (const [path, name] of found) {
    const isKept = keepers.some(([keeper, kept]) => keeper.test(path) && kept.test(name));
    assert.ok(isKept, `"${path}" holds the ${name}`);
    const rights = (await output(machine, ["stat", "--format", "%a %U:%G", path])).trim();
    assert.match(rights, /^[46]00 root:root$/, `"${path}" holds the ${name}`);
  }
}

// Writes the secret to search for into a file: as an argument of the search it would itself be found in the process
// list.
async function filesWith({ machine }: Booted, secrets: Secrets): Promise<[path: string, name: string][]> {
  const folder = "/run/secret-traces";
  const found: [string, string][] = [];
  for (const [name, text] of secrets) {
    await machine.write(`${folder}/pattern`, `${text}\n`);
    const script =
      `grep --recursive --text --fixed-strings --files-with-matches --devices=skip --file ${folder}/pattern \
      --exclude-dir=secret-traces /etc /var /opt /root /home /usr/local /tmp /run 2>/dev/null`;
    const { stdout } = await machine.run(["bash", "-c", script]);
    found.push(
      ...stdout.trim().split("\n").filter((path) => path !== "").map((path): [string, string] => [path, name]),
    );
  }
  await machine.run(["rm", "-r", folder]);
  return found;
}
