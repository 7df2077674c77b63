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
// The PATH of a user often lacks the folders of root's programs.
const env = { ...process.env, PATH: `${process.env.PATH ?? ""}:/usr/sbin:/sbin` };

/**
 * Returns the kernel settings, bridges, routes, firewall rules, engines and machines of Ostler on this host, one per
 * line.
 */
export async function hostTraces(): Promise<string[]> {
  const [kernel, links, routes, rules, processes] = await Promise.all([
    output("sysctl", ["--ignore", ...settings]),
    output("ip", ["-brief", "link"]),
    output("ip", ["route"]),
    // Only root sees firewall rules, and only an engine that root has started adds any.
    process.getuid?.() === 0 ? output("iptables", ["--list-rules"]) : [],
    output("ps", ["-eo", "args"]),
  ]);
  const ours = [...links, ...routes, ...rules].filter((line) => line.includes("ostler"));
  // The processes of machines (systemd as init), of the Docker engine, and of the engine's keeper, which cleans up
  // after the run and ends a moment later.
  const running = processes.filter((line) => /^\/sbin\/init ds=|dockerd .*ostler|engine\/keeper\.ts/.test(line));
  return [...kernel, ...ours, ...running].sort();
}

/** Waits until this host has the same traces as before, for one minute at most. */
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
