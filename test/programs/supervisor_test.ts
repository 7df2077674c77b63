import assert from "node:assert/strict";
import { access, readFile } from "node:fs/promises";
import { join } from "node:path";
import process from "node:process";
import { ProcessCrash } from "../../deploy/local/process/process_crash.ts";
import type { ProcessSpec } from "../../deploy/local/process/supervised_process.ts";
import { Supervisor, type SupervisorOptions } from "../../deploy/local/process/supervisor.ts";
import { waitUntil } from "../../deploy/local/process/wait_until.ts";
import { eventually } from "../support/eventually.ts";
import { scratchDirectory } from "../support/scratch_directory.ts";

interface Scene extends AsyncDisposable {
  readonly supervisor: Supervisor;
  /**
   * Returns the spec of a process that creates a file when it is ready, and appends its name to the file `ended` when
   * it must stop.
   */
  readonly spec: (name: string, overrides?: Partial<ProcessSpec>) => ProcessSpec;
  readonly read: (path: string) => Promise<string>;
}

/** A supervisor in a directory of its own; everything in it is stopped and removed at the end of the scope. */
async function given(options: Partial<SupervisorOptions> = {}): Promise<Scene> {
  const scratch = await scratchDirectory();
  const supervisor = new Supervisor({ directory: scratch.path, ...options });
  const spec = (name: string, overrides: Partial<ProcessSpec> = {}): ProcessSpec => ({
    name,
    command: "/bin/sh",
    args: [
      "-c",
      `trap 'echo ${name} >> ended; exit 0' TERM; echo up ${name}; touch ${name}; while :; do sleep 0.02; done`,
    ],
    cwd: scratch.path,
    ready: () => access(join(scratch.path, name)),
    readyTimeoutMs: 10_000,
    ...overrides,
  });
  return {
    supervisor,
    spec,
    read: (path: string) => readFile(join(scratch.path, path), "utf8"),
    async [Symbol.asyncDispose](): Promise<void> {
      await supervisor.stop();
      await scratch[Symbol.asyncDispose]();
    },
  };
}

const never = () => Promise.reject(new Error("the ready file is missing"));
const isAlive = (pid: number) => {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
};

Deno.test("Supervisor: resolves a start when the probe succeeds, and writes the output of the process to a log file", async () => {
  await using scene = await given();
  const started = await scene.supervisor.start(scene.spec("web"));
  assert.ok(started.pid !== undefined && isAlive(started.pid));
  assert.match(await scene.read("logs/web.log"), /up web/);
});

Deno.test("Supervisor: stops processes in the reverse order of their starts", async () => {
  await using scene = await given();
  for (const name of ["first", "second", "third"]) await scene.supervisor.start(scene.spec(name));
  const pids = scene.supervisor.processes.map((one) => one.pid);
  await scene.supervisor.stop();
  assert.equal(await scene.read("ended"), "third\nsecond\nfirst\n");
  assert.ok(pids.every((pid) => pid !== undefined && !isAlive(pid)));
});

Deno.test("Supervisor: rejects a start with the last log lines when the process exits before it is ready", async () => {
  await using scene = await given();
  const args = ["-c", "echo one; echo cannot open the vault >&2; exit 3"];
  const start = scene.supervisor.start(scene.spec("vault", { args, ready: never, readyTimeoutMs: 600_000 }));
  await assert.rejects(start, (error) => {
    assert.ok(error instanceof ProcessCrash);
    assert.equal(error.exit.code, 3);
    assert.equal(error.logTail, "one\ncannot open the vault");
    assert.match(error.message, /^Process "vault" exited with code 3; last lines of /);
    return true;
  });
});

Deno.test("Supervisor: rejects a start when the binary does not exist", async () => {
  await using scene = await given();
  const start = scene.supervisor.start(scene.spec("ghost", { command: "/nonexistent/ghost", ready: never }));
  await assert.rejects(start, /Process "ghost" failed to start \(.*ENOENT/);
});

Deno.test("Supervisor: rejects a start at its deadline with the probe's reason, and stops the process", async () => {
  await using scene = await given();
  const start = scene.supervisor.start(scene.spec("slow", { ready: never, readyTimeoutMs: 200, graceMs: 100 }));
  await assert.rejects(
    start,
    /Timed out after 0.2 s waiting for process "slow" to become ready: the ready file is missing/,
  );
  assert.equal(scene.supervisor.get("slow").isRunning, false);
});

Deno.test("Supervisor: cancels the start of a process when the AbortSignal of the start aborts", async () => {
  await using scene = await given();
  const abort = new AbortController();
  const probe = () => {
    abort.abort(new Error("Interrupted"));
    return never();
  };
  await assert.rejects(
    scene.supervisor.start(scene.spec("web", { ready: probe }), abort.signal),
    /^Error: Interrupted$/,
  );
  assert.equal(scene.supervisor.get("web").isRunning, false);
});

Deno.test("Supervisor: reports an unexpected exit of a ready process by callback and promise", async () => {
  const crashes: Error[] = [];
  await using scene = await given({ onCrash: (crash) => crashes.push(crash) });
  const { pid } = await scene.supervisor.start(scene.spec("web"));
  process.kill(pid!, "SIGKILL");
  const crash = await scene.supervisor.firstCrash;
  assert.ok(crash instanceof ProcessCrash);
  assert.deepEqual([crash.processName, crash.exit.signal, crashes.length], ["web", "SIGKILL", 1]);
  assert.match(crash.message, /up web/);
});

Deno.test("Supervisor: restarts a process after an unexpected exit, and reports the restart in one line and not as a crash", async () => {
  const [crashes, lines]: [Error[], string[]] = [[], []];
  await using scene = await given({
    onCrash: (crash) => crashes.push(crash),
    onRevival: (line) => lines.push(line),
  });
  const web = await scene.supervisor.start(scene.spec("web", { isRevived: true }));
  const before = web.pid!;
  process.kill(before, "SIGKILL");
  await eventually("another run", () => web.pid !== undefined && web.pid !== before);
  assert.deepEqual(lines, ['"web" was terminated by SIGKILL; restarting in 1 s']);
  assert.deepEqual(crashes, []);
});

Deno.test("SupervisedProcess.kill: ends the process without counting as a crash", async () => {
  const crashes: Error[] = [];
  await using scene = await given({ onCrash: (crash) => crashes.push(crash) });
  const web = await scene.supervisor.start(scene.spec("web"));
  web.kill("SIGKILL");
  assert.deepEqual(await web.exit, { code: null, signal: "SIGKILL", isExpected: true });
  await scene.supervisor.stop();
  assert.deepEqual(crashes, []);
});

Deno.test("SupervisedProcess.restart: starts a new run of a killed process and keeps its log", async () => {
  await using scene = await given();
  let log = "up web\n";
  const ready = async (): Promise<void> => assert.equal(await scene.read("logs/web.log"), log);
  const web = await scene.supervisor.start(scene.spec("web", { ready }));
  const before = web.pid;
  web.kill("SIGKILL");
  await web.exit;
  log = "up web\nup web\n";
  await web.restart();
  assert.ok(web.pid !== undefined && web.pid !== before && isAlive(web.pid));
});

Deno.test("SupervisedProcess.stop: sends SIGKILL when SIGTERM is ignored", async () => {
  await using scene = await given();
  const args = ["-c", "trap '' TERM; touch deaf; while :; do sleep 0.02; done"];
  const deaf = await scene.supervisor.start(scene.spec("deaf", { args, graceMs: 100 }));
  await deaf.stop();
  assert.equal((await deaf.exit).signal, "SIGKILL");
});

Deno.test("SupervisedProcess.stop: ends the child processes as well", async () => {
  await using scene = await given();
  const args = ["-c", "sleep 600 & echo $! > inner; touch outer; wait"];
  const outer = await scene.supervisor.start(scene.spec("outer", { args }));
  const inner = Number(await scene.read("inner"));
  assert.ok(isAlive(inner));
  await outer.stop();
  await waitUntil(() => isAlive(inner) ? never() : Promise.resolve(), { what: "the child gone", timeoutMs: 10_000 });
});

Deno.test("Supervisor: refuses to start a process while one of the same name runs, and any process after the supervisor was stopped", async () => {
  await using scene = await given();
  await scene.supervisor.start(scene.spec("web"));
  await assert.rejects(
    scene.supervisor.start(scene.spec("web")),
    /Failed to start process "web": it is already running/,
  );
  await scene.supervisor.stop();
  await assert.rejects(scene.supervisor.start(scene.spec("late")), /the supervisor was stopped/);
  await assert.rejects(scene.supervisor.get("web").restart(), /the supervisor was stopped/);
});
