/**
 * How fast a backlog is published: the given number of MachineDeployments, which have a revision number
 * (`numbered_pools.ts`) and no machines, wait without a publisher. Then the publisher starts, and everything is timed
 * from that moment. The costs of the publisher and of Temporal are counted from there to the last secret, so they
 * include the start of the publisher's processes. Run directly, it prints its rows:
 *
 *     deno run -A test/bench/backlog.ts 300
 */
import type { SupervisedProcess } from "../../deploy/local/process/supervised_process.ts";
import { type Figure, figuresOf, type Row } from "./figure.ts";
import { type Ground, type GroundOptions, onGround } from "./ground.ts";
import { MomentWatch } from "./moment_watch.ts";
import { createNumbered } from "./numbered_pools.ts";
import { type Costs, countCosts } from "./process_costs.ts";
import { publishedMoments, publishedSecrets, secretsOf } from "./published_pools.ts";
import { databaseBytes, objectBytes } from "./stored.ts";
import { printAlone } from "./table.ts";
import { type Writer, writers } from "./writer.ts";

interface Backlog {
  /** Number of pools whose secrets were published within the time limit. */
  published: number;
  /** Seconds from the start of the publisher's processes to the first published pool. */
  firstSeconds: number;
  /** Pools per second after the first one. */
  rate: number;
  costs: Costs;
  /** Costs of the API server and etcd, which also serve the bench itself. */
  servers: Costs;
  databaseBytes: number;
  /** Size of the objects that a publisher writes for one pool. */
  objectBytes: number;
}

export interface BacklogOptions extends GroundOptions {
  /** The name of the part in the figures; by default "backlog". */
  part?: string;
}

/** The time limit for the slowest publisher. */
const longestSeconds = 600;

/** Publishes one backlog per size, each in a fresh control plane. */
export async function measureBacklog(
  writer: Writer,
  sizes: readonly number[],
  { part = "backlog", ...ground }: BacklogOptions = {},
): Promise<Figure[]> {
  const figures: Figure[] = [];
  for (const pools of sizes) {
    const backlog = await onGround(ground, (found) => publishAll(found, { writer, pools }));
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
  const { processes } = ground.stack;
  const engine = engineOf(processes);
  const servers = { apiserver: processes.get("kube-apiserver"), etcd: processes.get("etcd") };
  const [costs, serverCosts] = [await countCosts(engine), await countCosts(servers)];
  const database = await databaseBytes(ground);
  const begun = performance.now();
  const started = await start();
  await watch.all(secretsOf(names), longestSeconds);
  const counted = { costs: await costs({ ...started, ...engine }), servers: await serverCosts(servers) };
  const moments = publishedMoments(watch, names).map((ms) => (ms - begun) / 1000);
  const [firstSeconds, lastSeconds] = [Math.min(...moments), Math.max(...moments)];
  return {
    ...{ ...counted, published: moments.length, firstSeconds },
    rate: (moments.length - 1) / (lastSeconds - firstSeconds),
    databaseBytes: await databaseBytes(ground) - database,
    objectBytes: await objectBytes(ground, names[0] ?? ""),
  };
}

/** Returns the processes of Temporal: the server, and its database if that is a separate process. */
function engineOf({ processes }: Ground["stack"]["processes"]): Record<string, SupervisedProcess> {
  const parts = processes.filter(({ name }) => name === "temporal" || name === "postgres");
  return Object.fromEntries(parts.map((part) => [part.name, part]));
}

function backlogFigures(
  { published, firstSeconds, rate, costs, servers, databaseBytes, objectBytes }: Backlog,
  { part, writer, pools }: Task & { part: string },
): Figure[] {
  const each = Object.entries(costs);
  const hasTemporal = each.some(([name]) => name === "temporal");
  const ofEach = each.length === 1 ? [] : each.flatMap(([name, { cpuSeconds, peakMib }]): Row[] => [
    [`CPU a pool, ${name}`, "ms", cpuSeconds * 1000 / pools],
    [`peak memory, ${name}`, "MiB", peakMib],
  ]);
  return figuresOf({ part, column: writer.name, size: pools }, [
    ...(published === pools ? [] : [["never published", "pools", pools - published] as Row]),
    ["rate after the first", "/s", rate],
    ["start to first secret", "s", firstSeconds],
    ["CPU a pool", "ms", cpuOf(costs) * 1000 / pools],
    ["peak memory", "MiB", each.reduce((sum, [, { peakMib }]) => sum + peakMib, 0)],
    ...ofEach,
    ...(hasTemporal && Number.isFinite(databaseBytes)
      ? [["Temporal's database a pool", "KiB", databaseBytes / 1024 / pools] as Row]
      : []),
    ["objects a pool", "KiB", objectBytes / 1024],
    ["CPU a pool, API server and etcd", "ms", cpuOf(servers) * 1000 / pools],
    ["peak memory, API server", "MiB", servers["apiserver"]?.peakMib ?? NaN],
  ]);
}

function cpuOf(costs: Costs): number {
  return Object.values(costs).reduce((sum, { cpuSeconds }) => sum + cpuSeconds, 0);
}

if (import.meta.main) {
  const sizes = Deno.args.length > 0 ? Deno.args.map(Number) : [300];
  await printAlone(writers(), (writer) => measureBacklog(writer, sizes));
}
