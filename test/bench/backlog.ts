/**
 * How fast a backlog is published: so many MachineDeployments that are numbered already (`numbered_pools.ts`) and have no
 * machines wait while nobody publishes; then who publishes is started, and everything is timed from that moment. What it
 * costs counts from there to the last secret, the start of the processes included. Alone it prints its rows:
 *
 *     deno run -A test/bench/backlog.ts 300
 */
import { readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { type Figure, figuresOf, type Row } from "./figure.ts";
import { type Ground, onGround } from "./ground.ts";
import { MomentWatch } from "./moment_watch.ts";
import { createNumbered } from "./numbered_pools.ts";
import { type Cost, type Costs, countCosts } from "./process_costs.ts";
import { publishedMoments, publishedSecrets, secretsOf } from "./published_pools.ts";
import { printAlone } from "./table.ts";
import { type Writer, writers } from "./writer.ts";

interface Backlog {
  /** Those published in time. */
  published: number;
  /** From the start of the processes. */
  firstSeconds: number;
  /** Pools a second after the first one. */
  rate: number;
  costs: Costs;
  /** By which Temporal's database grew; NaN for who has none. */
  storedBytes: number;
}

/** As long as the slowest may take. */
const longestSeconds = 600;

/** Publishes a backlog of each size, each on a ground of its own. */
export async function measureBacklog(writer: Writer, sizes: readonly number[], part = "backlog"): Promise<Figure[]> {
  const figures: Figure[] = [];
  for (const pools of sizes) {
    const backlog = await onGround({}, (ground) => publishAll(ground, { writer, pools }));
    figures.push(...backlogFigures(backlog, { part, writer, pools }));
  }
  return figures;
}

interface Task {
  writer: Writer;
  pools: number;
}

async function publishAll(ground: Ground, { writer, pools }: Task): Promise<Backlog> {
  const start = await writer.prepare(ground);
  const names = await createNumbered(ground.api, pools);
  using watch = await MomentWatch.open(ground.stack.adminKubeconfig, publishedSecrets);
  const temporal = ground.stack.processes.get("temporal");
  const costs = await countCosts({ temporal });
  const stored = await storedBytes(ground);
  const begun = performance.now();
  const processes = await start();
  await watch.all(secretsOf(names), longestSeconds);
  const counted = await costs({ ...processes, temporal });
  const moments = publishedMoments(watch, names).map((ms) => (ms - begun) / 1000);
  const [firstSeconds, lastSeconds] = [Math.min(...moments), Math.max(...moments)];
  const rate = (moments.length - 1) / (lastSeconds - firstSeconds);
  const grown = counted["temporal"] ? await storedBytes(ground) - stored : NaN;
  return { published: moments.length, firstSeconds, rate, costs: counted, storedBytes: grown };
}

/** Of Temporal's database, with what is written to its log and not yet to it. */
async function storedBytes({ stack }: Ground): Promise<number> {
  const folder = join(stack.directory, "temporal");
  const sizes = (await readdir(folder)).map(async (name) => (await stat(join(folder, name))).size);
  return (await Promise.all(sizes)).reduce((sum, size) => sum + size, 0);
}

function backlogFigures(
  { published, firstSeconds, rate, costs, storedBytes }: Backlog,
  { part, writer, pools }: Task & { part: string },
): Figure[] {
  const each = Object.entries(costs);
  const all = (of: (cost: Cost) => number): number => each.reduce((sum, [, cost]) => sum + of(cost), 0);
  const ofEach = each.length === 1 ? [] : each.flatMap(([name, { cpuSeconds, peakMib }]): Row[] => [
    [`CPU a pool, ${name}`, "ms", cpuSeconds * 1000 / pools],
    [`peak memory, ${name}`, "MiB", peakMib],
  ]);
  return figuresOf({ part, column: writer.name, size: pools }, [
    ...(published === pools ? [] : [["never published", "pools", pools - published] as Row]),
    ["rate after the first", "/s", rate],
    ["start to first secret", "s", firstSeconds],
    ["CPU a pool", "ms", all(({ cpuSeconds }) => cpuSeconds) * 1000 / pools],
    ["peak memory", "MiB", all(({ peakMib }) => peakMib)],
    ...ofEach,
    ...(Number.isNaN(storedBytes) ? [] : [["Temporal's database a pool", "KiB", storedBytes / 1024 / pools] as Row]),
  ]);
}

if (import.meta.main) {
  const sizes = Deno.args.length > 0 ? Deno.args.map(Number) : [300];
  await printAlone(writers(), (writer) => measureBacklog(writer, sizes));
}
