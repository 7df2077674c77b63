import { deepEqual, equal, rejects } from "node:assert/strict";
import { get } from "node:http";
import { freePorts } from "../../../deploy/local/process/free_ports.ts";
import { type Part, runTogether } from "../../../workers/all.ts";
import type { Config } from "../../../workers/config.ts";
import { LeaseLost } from "../../../workers/leader.ts";
import { exitCodeOf } from "../../../workers/run_process.ts";

function configOf(port: number): Config {
  const host = "127.0.0.1";
  return { healthProbeAddress: { host, port }, metricsAddress: { host, port: 9090 } } as Config;
}

/** A fake process that records its start and end in `said`, and ends on request; by default it is ready at once. */
function part(name: string, said: string[], isReady: () => boolean = () => true): Part {
  return async (config, signal, { serve }) => {
    said.push(`${name} begins at ${config.metricsAddress.port}`);
    serve({ host: "", port: 0, isReady });
    await ended(signal);
    said.push(`${name} ends`);
  };
}

function ended(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    signal.addEventListener("abort", () => resolve(), { once: true });
  });
}

function statusOf(port: number, path: string): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    get(`http://127.0.0.1:${port}${path}`, { agent: false }, (answer) => {
      answer.resume().on("end", () => resolve(answer.statusCode));
    }).on("error", reject);
  });
}

Deno.test("all: is ready when all processes are ready, gives each process its own metrics port, and ends the processes on request, in the order of their start", async () => {
  const [port = 0] = await freePorts(1);
  const said: string[] = [];
  const stop = new AbortController();
  let isReady = false;
  const parts = {
    worker: part("worker", said, () => isReady),
    controller: part("controller", said),
    webhook: part("webhook", said),
  };
  const run = runTogether(parts, configOf(port), stop.signal);
  await new Promise((resolve) => setTimeout(resolve, 20));
  const before = await statusOf(port, "/readyz");
  const each = ["worker", "controller", "webhook", "scheduler"].map((name) => statusOf(port, `/readyz/${name}`));
  deepEqual(
    await Promise.all(each),
    [503, 200, 200, 404],
    "Expected the controller and the webhook to be ready although the worker is not",
  );
  isReady = true;
  deepEqual([before, await statusOf(port, "/readyz"), await statusOf(port, "/healthz")], [503, 200, 200]);
  stop.abort();
  await run;
  deepEqual(said, [
    ...["worker begins at 9090", "controller begins at 9091", "webhook begins at 9092"],
    ...["worker ends", "controller ends", "webhook ends"],
  ]);
});

Deno.test("all: ends the other processes when one loses its lease, and exits with the code of that process", async () => {
  const said: string[] = [];
  const loser: Part = async (_config, _signal, { serve }) => {
    serve({ host: "", port: 0, isReady: () => true });
    await new Promise((resolve) => setTimeout(resolve, 1));
    throw new LeaseLost("Lost");
  };
  const run = runTogether({ worker: part("worker", said), loser }, configOf(0), new AbortController().signal);
  await rejects(run, (error) => exitCodeOf(error) === 75);
  equal(said.at(-1), "worker ends");
});

Deno.test("all: starts no further process after one that fails before it reports its readiness", async () => {
  const said: string[] = [];
  const broken: Part = () => Promise.reject(new Error("no certificate"));
  const run = runTogether(
    { worker: part("worker", said), broken, webhook: part("webhook", said) },
    configOf(0),
    new AbortController().signal,
  );
  await rejects(run, /no certificate/);
  deepEqual(said, ["worker begins at 9090", "worker ends"]);
});
