// deno-lint-ignore-file no-console -- printing what was measured is this program's job
/**
 * How fast a backlog is published: so many MachineDeployments that are numbered already (`numbered_pools.ts`) and have no
 * machines wait while nobody publishes; then who publishes is started, and everything is timed from that moment. What it
 * costs counts from there to the last secret, the start of the processes included.
 *
 *     deno run -A test/bench/backlog.ts 300
 *
 * prints rate, time to the first secret, processor time per MachineDeployment and peak memory of each process; beside it
 * the same of Operating System Manager where OSTLER_BENCH_OSM names its binary.
 */
import type { SupervisedProcess } from "../../deploy/local/process/supervised_process.ts";
import { type Ground, onGround } from "./ground.ts";
import { createNumbered } from "./numbered_pools.ts";
import { loadOf, type ProcessLoad } from "./process_load.ts";
import { PublishedWatch } from "./published_watch.ts";
import { osmVariable, type Writer, writers } from "./writer.ts";

export interface Backlog {
  writer: string;
  pools: number;
  /** Of them; the rest did not come in time. */
  published: number;
  /** From the start of the processes. */
  firstSeconds: number;
  allSeconds: number;
  /** Pools a second after the first one. */
  rate: number;
  processes: Record<string, Cost>;
}

/** What a process needed for all of it. */
export interface Cost {
  cpuMsPerPool: number;
  peakMib: number;
}

/** As long as the slowest may take. */
const longestSeconds = 600;

/** Publishes a backlog of `pools` on a ground of its own. */
export function measureBacklog(writer: Writer, pools: number): Promise<Backlog> {
  return onGround({}, async (ground) => {
    await writer.prepare(ground);
    const names = await createNumbered(ground.api, pools);
    using watch = await PublishedWatch.open(ground.stack.adminKubeconfig, names);
    const { begun, processes, before } = await startTimed(writer, ground);
    await watch.all(longestSeconds);
    const cost = await costs(processes, { before, pools });
    const moments = [...watch.published.values()];
    const [first, last] = [Math.min(...moments), Math.max(...moments)].map((ms) => (ms - begun) / 1000);
    const [firstSeconds = NaN, allSeconds = NaN] = [first, last];
    const rate = (moments.length - 1) / (allSeconds - firstSeconds);
    const published = moments.length;
    return { writer: writer.name, pools, published, firstSeconds, allSeconds, rate, processes: cost };
  });
}

async function startTimed(writer: Writer, ground: Ground): Promise<{
  begun: number;
  processes: Record<string, SupervisedProcess>;
  before: ProcessLoad | undefined;
}> {
  const temporal = ground.stack.processes.get("temporal");
  const before = temporal.pid === undefined ? undefined : await loadOf(temporal.pid);
  const begun = performance.now();
  const started = await writer.start(ground);
  return { begun, processes: before ? { ...started, temporal } : started, before };
}

/** Temporal ran before: what it used till then is no part of it. */
async function costs(
  processes: Record<string, SupervisedProcess>,
  { before, pools }: { before: ProcessLoad | undefined; pools: number },
): Promise<Record<string, Cost>> {
  const each = Object.entries(processes).map(async ([name, { pid = 0 }]) => {
    const { cpuSeconds, peakMib } = await loadOf(pid);
    const used = cpuSeconds - (name === "temporal" ? before?.cpuSeconds ?? 0 : 0);
    return [name, { cpuMsPerPool: used * 1000 / pools, peakMib }] as const;
  });
  return Object.fromEntries(await Promise.all(each));
}

function print({ writer, pools, published, firstSeconds, allSeconds, rate, processes }: Backlog): void {
  console.log(`\n${writer}: ${published} of ${pools} published in ${allSeconds.toFixed(1)} s`);
  console.log(`first secret after ${firstSeconds.toFixed(1)} s, then ${rate.toFixed(1)} a second`);
  const costs = Object.entries(processes);
  for (const [name, { cpuMsPerPool, peakMib }] of costs) {
    console.log(`${name.padEnd(12)} ${cpuMsPerPool.toFixed(1).padStart(7)} ms of CPU a pool, ${peakMib} MiB at most`);
  }
  const sum = costs.reduce((total, [, { cpuMsPerPool }]) => total + cpuMsPerPool, 0);
  console.log(`${"together".padEnd(12)} ${sum.toFixed(1).padStart(7)} ms of CPU a pool`);
}

if (import.meta.main) {
  const [pools = 300] = Deno.args.map(Number);
  const measured = writers();
  if (measured.length === 1) console.log(`${osmVariable} names no binary: nothing is measured beside Ostler`);
  for (const writer of measured) print(await measureBacklog(writer, pools));
  Deno.exit();
}
