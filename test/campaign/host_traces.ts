/** The traces that machines leave on this host while they run, and must not leave behind. */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import process from "node:process";
import { promisify } from "node:util";
import { waitUntil } from "../../deploy/local/process/wait_until.ts";

const settings = [
  ...["kernel.panic", "kernel.panic_on_oops", "vm.overcommit_memory", "vm.panic_on_oom", "net.ipv4.ip_forward"],
  ...["kernel.keys.root_maxkeys", "kernel.keys.root_maxbytes", "kernel.keys.maxkeys", "kernel.keys.maxbytes"],
  ...["fs.inotify.max_user_watches", "fs.inotify.max_user_instances", "fs.file-max", "fs.nr_open"],
];
// A user's PATH often lacks programs for root.
const env = { ...process.env, PATH: `${process.env.PATH ?? ""}:/usr/sbin:/sbin` };

/** Kernel settings, bridges, routes, firewall rules, engines and machines of Ostler, a line each. */
export async function hostTraces(): Promise<string[]> {
  const [kernel, links, routes, rules, processes] = await Promise.all([
    output("sysctl", ["--ignore", ...settings]),
    output("ip", ["-brief", "link"]),
    output("ip", ["route"]),
    // Only root sees them, and only an engine that root has started makes some.
    process.getuid?.() === 0 ? output("iptables", ["--list-rules"]) : [],
    output("ps", ["-eo", "args"]),
  ]);
  const ours = [...links, ...routes, ...rules].filter((line) => line.includes("ostler"));
  // systemd of a machine, and what runs it; the keeper takes a moment longer than what it cleans up.
  const running = processes.filter((line) => /^\/sbin\/init ds=|dockerd .*ostler|engine\/keeper\.ts/.test(line));
  return [...kernel, ...ours, ...running].sort();
}

/** Waits, a minute at most, until this host is as before. */
export async function untilTidy(before: string[]): Promise<void> {
  await waitUntil(async () => assert.deepEqual(await hostTraces(), before), {
    what: "this host to be as before",
    timeoutMs: 60_000,
  });
}

async function output(program: string, args: string[]): Promise<string[]> {
  const { stdout } = await promisify(execFile)(program, args, { env, maxBuffer: 10_000_000 });
  return stdout.split("\n").map((line) => line.trim()).filter((line) => line !== "");
}
