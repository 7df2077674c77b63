/**
 * The demo of the README, as a new user runs it; also while its API server is suspended, as on a laptop that sleeps.
 */
import assert from "node:assert/strict";
import { type ChildProcess, execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { readdir, readFile } from "node:fs/promises";
import process from "node:process";
import { createInterface } from "node:readline";
import { setTimeout as pause } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { NotYet, waitFor, waitUntil } from "../../deploy/local/process/wait_until.ts";
import { ApiConnection } from "../../deploy/local/stack/api_connection.ts";
import { poolPath, type RolloutStatus, rollTo } from "./pool_objects.ts";

const root = fileURLToPath(new URL("../../", import.meta.url));

/**
 * Milliseconds for which the API server is suspended: longer than a lease lasts, and than a client waits for a
 * response.
 */
const asleepMs = 50_000;

Deno.test("deno task demo: keeps its promises, and with --keep continues after the API server was suspended for 50 s", async (t) => {
  await using demo = await KeptDemo.start([
    "--json",
    "--keep",
    "--replicas",
    "2",
    "--boot-seconds",
    "2",
    "--seed",
    "4",
  ]);
  const report = JSON.parse(await demo.line("out", /^\{/));
  await t.step("reports in one JSON line that every promise was kept", () => {
    assert.equal(report.ok, true);
    assert.deepEqual(report.violations, []);
    assert.equal(report.workerKilled, true);
    assert.equal(report.machines.length, 4);
  });
  const [, kubeconfig = ""] = /kubeconfig +(\S+)/.exec(await demo.line("err", /kubeconfig +\S+/)) ?? [];
  await t.step("restarts the controller that lost its lease", async () => {
    const apiServer = await childOf(demo.pid, "kube-apiserver");
    process.kill(apiServer, "SIGSTOP");
    await pause(asleepMs); // the outage itself is tested
    process.kill(apiServer, "SIGCONT");
    assert.match(await demo.line("err", /"controller" .*restarting/), /restarting in 1 s$/);
  });
  await t.step("rolls the pool again after the API server has resumed", () => rolls(kubeconfig));
  assert.equal(await demo.end(), 0);
});

Deno.test("deno task demo: refuses an unknown option and starts nothing", async () => {
  const run = promisify(execFile)(process.execPath, ["task", "demo", "--colour"], { cwd: root, timeout: 60_000 });
  await assert.rejects(run, (error: { code?: number; stderr?: string }) => {
    assert.equal(error.code, 2);
    assert.match(error.stderr ?? "", /--colour/);
    return true;
  });
});

/** A demo that runs until it is ended; its output can be awaited. */
class KeptDemo implements AsyncDisposable {
  readonly #said = { out: [] as string[], err: [] as string[] };
  readonly #exit: Promise<number | null>;
  readonly #process: ChildProcess;

  private constructor(child: ChildProcess) {
    this.#process = child;
    this.#exit = once(child, "exit").then(([code]) => code as number | null);
    for (const [name, stream] of [["out", child.stdout!], ["err", child.stderr!]] as const) {
      createInterface({ input: stream }).on("line", (line) => this.#said[name].push(line));
    }
  }

  /**
   * Starts the command of the task `demo` directly, because a signal to `deno task` would reach a shell and not the
   * demo.
   */
  static async start(flags: string[]): Promise<KeptDemo> {
    const { tasks } = JSON.parse(await readFile(`${root}deno.json`, "utf8"));
    const [, ...args] = String(tasks.demo.command).split(" ");
    return new KeptDemo(spawn(process.execPath, [...args, ...flags], { cwd: root, stdio: ["ignore", "pipe", "pipe"] }));
  }

  get pid(): number {
    return this.#process.pid!;
  }

  /**
   * Waits until the demo has printed a line that matches, and returns the first one; lines from before the call count
   * too.
   */
  async line(stream: "out" | "err", sign: RegExp): Promise<string> {
    return await waitFor(() => {
      const found = this.#said[stream].find((line) => sign.test(line));
      if (found !== undefined) return found;
      throw new NotYet(this.#said.err.slice(-8).join(" | "));
    }, { what: `${sign} on std${stream}`, timeoutMs: 600_000 });
  }

  async end(): Promise<number | null> {
    // Signals by process ID: Deno reports a process that was signalled through its handle as ended by the signal.
    if (this.#process.exitCode === null) process.kill(this.pid, "SIGINT");
    return await this.#exit;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.end();
  }
}

/** The process ID of a program that a process has started. */
async function childOf(parent: number, program: string): Promise<number> {
  for (const pid of (await readdir("/proc")).filter((name) => /^\d+$/.test(name))) {
    const [stat, command] = await Promise.all([
      readFile(`/proc/${pid}/stat`, "utf8").catch(() => ""),
      readFile(`/proc/${pid}/cmdline`, "utf8").catch(() => ""),
    ]);
    const [, owner] = /\) \S (\d+) /.exec(stat) ?? [];
    if (Number(owner) === parent && command.split("\0")[0]?.endsWith(`/${program}`)) return Number(pid);
  }
  throw new Error(`Failed to find "${program}": process ${parent} has no such child`);
}

async function rolls(kubeconfig: string): Promise<void> {
  using api = await ApiConnection.open(kubeconfig);
  const image = "docker://ostler.example/ubuntu:after-the-nap";
  const body = rollTo("1.36.1", image);
  await api.call({ method: "PATCH", path: poolPath("pool"), body, contentType: "application/merge-patch+json" });
  await waitUntil(async () => {
    const path = "/apis/ostler.dev/v1alpha1/namespaces/kube-system/rollouts/pool";
    const { status } = await api.call({ method: "GET", path }) as { status: RolloutStatus };
    assert.deepEqual([status.phase, status.image, status.updated], ["Converged", image, "2/2"]);
  }, { what: "the pool on its next image", timeoutMs: 180_000 });
}
