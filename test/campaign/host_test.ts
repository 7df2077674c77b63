/** The demo on real machines as a person runs it, complete and interrupted: nothing of it may remain on the host. */
import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import process from "node:process";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { hostTraces, untilTidy } from "./host_traces.ts";
import { machineTest } from "../machines/real_machines.ts";

const root = fileURLToPath(new URL("../../", import.meta.url));

/** The demo's own process, with the permissions of its task: a signal to `deno task` would reach a shell. */
async function startDemo(flags: string[]): Promise<ChildProcess> {
  const { tasks } = JSON.parse(await readFile(`${root}deno.json`, "utf8"));
  const [, ...args] = String(tasks.demo.command).split(" ");
  const install = Deno.env.get("OSTLER_INSTALL_DOCKER") === "true" ? ["--install-docker"] : [];
  const command = [...args, "--machines", "container", "--replicas", "2", "--seed", "4", ...install, ...flags];
  return spawn(process.execPath, command, { cwd: root, stdio: ["ignore", "pipe", "pipe"] });
}

/** Resolves at the line that matches `sign`, and reads on, because a process that writes to a closed pipe is killed. */
function moment(demo: ChildProcess, sign: RegExp): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const told: string[] = [];
  const lines = createInterface({ input: demo.stdout! });
  lines.on("line", (line) => {
    told.push(line);
    if (sign.test(line)) resolve();
  });
  lines.on("close", () => reject(new Error(`The demo ended before ${sign}: ${told.slice(-5).join(" | ")}`)));
  return promise;
}

async function text(stream: NodeJS.ReadableStream): Promise<string> {
  let all = "";
  for await (const chunk of stream) all += String(chunk);
  return all;
}

machineTest("deno task demo --machines container: keeps its promises, and leaves this host as before", async () => {
  const before = await hostTraces();
  const demo = await startDemo(["--json"]);
  demo.stderr!.resume();
  const [out, [code]] = await Promise.all([text(demo.stdout!), once(demo, "exit")]);
  const report = JSON.parse(out.trim().split("\n").at(-1) ?? "");
  assert.deepEqual([code, report.ok, report.violations], [0, true, []]);
  const kubelets = report.machines.map(({ kubelet }: { kubelet: string }) => kubelet);
  assert.deepEqual(kubelets, ["v1.35.3", "v1.35.3", "v1.36.1", "v1.36.1"]);
  await untilTidy(before);
});

for (const [signal, expected] of [["SIGINT", 130], ["SIGKILL", null]] as const) {
  machineTest(`deno task demo --machines container: leaves nothing behind after ${signal}`, async () => {
    const before = await hostTraces();
    const demo = await startDemo([]);
    const ended = once(demo, "exit");
    demo.stderr!.resume();
    await moment(demo, / installing$/);
    assert.notDeepEqual(await hostTraces(), before, "Expected traces of a machine that installs packages");
    // Signals the process by its ID: Deno treats a process that was signalled through its own handle as ended by the
    // signal.
    process.kill(demo.pid!, signal);
    const [code] = await ended;
    assert.equal(code, expected);
    await untilTidy(before);
  });
}
