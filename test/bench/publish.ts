/**
 * Creates MachineDeployments one at a time, and measures how long each takes until both secrets of its revision are
 * published, including the time that machine-controller takes. Also counts the publisher's requests to the API server
 * and, for Ostler, the events and actions in Temporal. Run directly, it prints its rows:
 *
 *     deno run -A test/bench/publish.ts 20
 */
import { Client } from "@temporalio/client";
import { NativeConnection } from "@temporalio/worker";
import { setTimeout as pause } from "node:timers/promises";
import { startMachineController } from "../../deploy/local/stack/machine_controller.ts";
import { machineDeployment, poolsPath } from "../integration/pool_objects.ts";
import { type Figure, figuresOf, median, quantile, type Row } from "./figure.ts";
import { type Ground, onGround } from "./ground.ts";
import { historyOf, type HistorySize } from "./history.ts";
import { MomentWatch } from "./moment_watch.ts";
import { markedPools, numberedPools, publishedMoments, publishedSecrets, secretsOf } from "./published_pools.ts";
import { loggedBytes, requestsSince } from "./requests.ts";
import { printAlone } from "./table.ts";
import { type Writer, writers } from "./writer.ts";

/** Time limit (s) for the first pool: machine-controller starts its work some 15 s after it reports to be ready. */
const firstSeconds = 90;
const longestSeconds = 60;
/** How long a publisher may continue after the secrets exist. */
const settleMs = 3_000;

/** Publishes this many pools, each when the publisher has finished its work for the previous one. */
export function measurePublish(writer: Writer, rounds: number): Promise<Figure[]> {
  return onGround({ audited: writer.users }, async (ground) => {
    const start = await writer.prepare(ground);
    await startMachineController(ground.stack, ground.kubeconfigs.machineController);
    await start();
    using watch = await MomentWatch.open(ground.stack.adminKubeconfig, publishedSecrets);
    using marked = await MomentWatch.open(ground.stack.adminKubeconfig, markedPools);
    using numbered = await MomentWatch.open(ground.stack.adminKubeconfig, numberedPools);
    await publishOne(ground, watch, { name: "warm-up", seconds: firstSeconds });
    await pause(settleMs);
    const from = await loggedBytes(ground.stack);
    const names = Array.from({ length: rounds }, (_, nth) => `single-${nth}`);
    const times: number[] = [];
    const begins = new Map<string, number>();
    for (const name of names) {
      begins.set(name, performance.now());
      times.push(await publishOne(ground, watch, { name, seconds: longestSeconds }));
    }
    await pause(settleMs);
    const requests = await requestsSince(ground.stack, { from, users: writer.users });
    const until = ({ moments }: MomentWatch): number => {
      return median(names.map((name) => (moments.get(name) ?? NaN) - (begins.get(name) ?? NaN)));
    };
    return figuresOf({ part: "publish", column: writer.name }, [
      ["one at a time, p50", "ms", median(times)],
      ["one at a time, p90", "ms", quantile(times, 0.9)],
      ["until machine-controller has numbered it, p50", "ms", until(marked)],
      ["until its status is written, p50", "ms", until(numbered)],
      ["requests of the API server", "each", requests / rounds],
      ...(writer.name === "Ostler" ? await askedOfTemporal(ground, names) : []),
    ]);
  });
}

/**
 * Returns the milliseconds from just before the creation of a MachineDeployment until both of its secrets are
 * published.
 */
async function publishOne(
  { api }: Ground,
  watch: MomentWatch,
  { name, seconds }: { name: string; seconds: number },
): Promise<number> {
  const begun = performance.now();
  await api.call({ method: "POST", path: poolsPath(), body: machineDeployment({ name, replicas: 0 }) });
  if (!await watch.all(secretsOf([name]), seconds)) {
    throw new Error(`Failed to time "${name}": not published in ${seconds} s`);
  }
  const [published = NaN] = publishedMoments(watch, [name]);
  // A short pause, so that the next publication begins from the same idle state.
  await pause(500);
  return published - begun;
}

async function askedOfTemporal({ stack }: Ground, names: string[]): Promise<Row[]> {
  const connection = await NativeConnection.connect({ address: stack.temporal.address });
  const client = new Client({ connection });
  const sizes = await Promise.all(names.map((name) => historyOf(client, `machine-deployment/kube-system/${name}`)));
  await connection.close();
  const of = (field: keyof HistorySize): number => median(sizes.map((size) => size[field]));
  return [
    ["workflow tasks", "each", of("tasks")],
    ["events", "each", of("events")],
    ["actions", "each", of("actions")],
    ["history", "bytes", of("bytes")],
  ];
}

if (import.meta.main) {
  const [rounds = 20] = Deno.args.map(Number);
  await printAlone(writers(), (writer) => measurePublish(writer, rounds));
}
