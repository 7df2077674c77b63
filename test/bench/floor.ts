/**
 * The cost of Temporal alone on this machine: the server that the other parts of the bench use too, and a worker of a
 * workflow that is started by a signal, runs one empty local activity, and ends. No publication can be cheaper. The
 * start of the processes is not counted. Run directly, it prints its rows:
 *
 *     deno run -A test/bench/floor.ts 300
 */
import { Client } from "@temporalio/client";
import { bundleWorkflowCode, DefaultLogger, NativeConnection } from "@temporalio/worker";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { logTail } from "../../deploy/local/process/log_tail.ts";
import type { SupervisedProcess } from "../../deploy/local/process/supervised_process.ts";
import { Supervisor } from "../../deploy/local/process/supervisor.ts";
import { startTemporalServer } from "../../deploy/local/stack/temporal_server.ts";
import { resolveTools } from "../../deploy/local/tools/resolve_tools.ts";
import { eventually } from "../support/eventually.ts";
import { type Figure, figuresOf, median } from "./figure.ts";
import { historyOf } from "./history.ts";
import type { LentTemporal } from "../../deploy/local/stack/lent_temporal.ts";
import { countCosts } from "./process_costs.ts";
import { printAlone } from "./table.ts";

interface Floor {
  client: Client;
  processes: Record<string, SupervisedProcess>;
}

export interface FloorOrder {
  sizes: readonly number[];
  rounds: number;
  /** Starts a Temporal server in place of the dev server. */
  temporal?: LentTemporal;
}

/** Runs the empty workflow `rounds` times, one at a time; then, for each of `sizes`, that many times concurrently. */
export async function measureFloor({ sizes, rounds, temporal: lent }: FloorOrder): Promise<Figure[]> {
  const directory = await mkdtemp(join(tmpdir(), "ostler-bench-"));
  const supervisor = new Supervisor({ directory });
  try {
    const { temporal: command } = await resolveTools(["temporal"]);
    const { address } = await (lent?.start(supervisor) ?? startTemporalServer({ supervisor, command, directory }));
    const worker = await startWorker(supervisor, [address, await bundle(directory)]);
    const connection = await NativeConnection.connect({ address });
    const floor = {
      client: new Client({ connection }),
      processes: { worker, temporal: supervisor.get("temporal") },
    };
    const figures = await oneAtATime(floor, rounds);
    for (const size of sizes) figures.push(...await allAtOnce(floor, size));
    await connection.close();
    return figures;
  } finally {
    await supervisor.stop();
    await lent?.remove();
    await rm(directory, { recursive: true, force: true });
  }
}

/**
 * Bundles the workflow before the worker starts, as for Ostler's worker, because bundling increases a process's memory.
 */
async function bundle(directory: string): Promise<string> {
  const path = join(directory, "floor_workflow.js");
  const workflowsPath = fileURLToPath(new URL("floor_workflow.ts", import.meta.url));
  const { code } = await bundleWorkflowCode({ workflowsPath, logger: new DefaultLogger("ERROR") });
  await writeFile(path, code);
  return path;
}

function startWorker(supervisor: Supervisor, args: string[]): Promise<SupervisedProcess> {
  return supervisor.start({
    name: "worker",
    command: process.execPath,
    args: ["run", "--allow-all", fileURLToPath(new URL("floor_worker.ts", import.meta.url)), ...args],
    ready: async () => {
      const log = await logTail(supervisor.get("worker").logPath);
      if (!log.includes("at work")) throw new Error("the workflow does not run yet");
    },
  });
}

function start({ client }: Floor, workflowId: string): ReturnType<Client["workflow"]["signalWithStart"]> {
  return client.workflow.signalWithStart("floor", { workflowId, taskQueue: "floor", signal: "desiredChanged" });
}

async function oneAtATime(floor: Floor, rounds: number): Promise<Figure[]> {
  const times: number[] = [];
  for (let nth = 0; nth <= rounds; nth++) {
    const begun = performance.now();
    await (await start(floor, `single-${nth}`)).result();
    // The first run is not measured, because it also loads code that all runs need.
    if (nth > 0) times.push(performance.now() - begun);
  }
  const { events, tasks, bytes, actions } = await historyOf(floor.client, `single-${rounds}`);
  return figuresOf({ part: "publish", column: "floor" }, [
    ["one at a time, p50", "ms", median(times)],
    ["workflow tasks", "each", tasks],
    ["events", "each", events],
    ["actions", "each", actions],
    ["history", "bytes", bytes],
  ]);
}

async function allAtOnce(floor: Floor, size: number): Promise<Figure[]> {
  const costs = await countCosts(floor.processes);
  const ids = Array.from({ length: size }, (_, nth) => `of-${size}-${nth}`);
  await Promise.all(ids.map((id) => start(floor, id)));
  const query = `WorkflowId STARTS_WITH "of-${size}-" AND ExecutionStatus = "Completed"`;
  const areDone = async (): Promise<boolean> => (await floor.client.workflow.count(query)).count >= size;
  await eventually("the end of all workflows", areDone, { withinMs: 3_600_000, pausesMs: [100, 100] });
  const { worker, temporal } = await costs(floor.processes);
  const ended = await Array.fromAsync(
    floor.client.workflow.list({ query }),
    ({ closeTime }) => closeTime?.getTime() ?? NaN,
  );
  const seconds = (Math.max(...ended) - Math.min(...ended)) / 1000;
  const cpu = (...all: (typeof worker)[]): number => {
    return all.reduce((sum, cost) => sum + (cost?.cpuSeconds ?? 0), 0) * 1000 / size;
  };
  return figuresOf({ part: "backlog", column: "floor", size }, [
    ["rate after the first", "/s", (size - 1) / seconds],
    ["CPU a pool", "ms", cpu(worker, temporal)],
    ["CPU a pool, worker", "ms", cpu(worker)],
    ["CPU a pool, temporal", "ms", cpu(temporal)],
    ["peak memory, worker", "MiB", worker?.peakMib ?? NaN],
  ]);
}

if (import.meta.main) {
  const sizes = Deno.args.length > 0 ? Deno.args.map(Number) : [300];
  await printAlone([sizes], () => measureFloor({ sizes, rounds: 20 }));
}
