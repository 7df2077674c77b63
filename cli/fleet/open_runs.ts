/** The open rollouts of all clusters, from Temporal's list of workflows. */
import type { Phase, PoolRef } from "../../workflows/contracts/mod.ts";
import { poolOfGroup, poolOfNodePool, rolloutTypes, workflowIdOf } from "../../workflows/commands/start_options.ts";
import { isClusterName } from "../connect/cluster_name.ts";
import type { Server } from "../connect/server.ts";
import { codeOf } from "../connect/temporal_failure.ts";
import { printable } from "../view/printable.ts";
import { pagesOf, type Service, textOf, timeOf } from "./wire.ts";

/** Maximum rollouts that are listed; all further ones are only counted. */
export const mostListed = 10_000;

const types = rolloutTypes.map((type) => `"${type}"`).join(", ");
const open = `WorkflowType IN (${types}) AND ExecutionStatus = "Running"`;
const invalidArgument = 3; // gRPC status code

/** Phases of open runs. */
const phases: Phase[] = [
  ...["Preparing", "Creating", "Rolling", "RollingBack", "Repairing", "Converged"] as const,
  ...["RolledBack", "Halted", "Aborted", "Deleting"] as const,
];

/** An open rollout. */
export interface OpenRun {
  workflowId: string;
  /** The pool, with the name of its cluster, or "" for a cluster without a name. */
  pool: PoolRef & { cluster: string };
  phase: string;
  image: string;
  /** Epoch ms. */
  startedAt?: number;
}

/** The listed rollouts, and the total. */
interface OpenRuns {
  runs: OpenRun[];
  total: number;
}

/** Lists the open rollouts; halted ones first if not all can be listed. */
export async function listOpenRuns(server: Server): Promise<OpenRuns> {
  const total = await countOf(server, open);
  if (total <= mostListed) {
    const runs = await list(server, open);
    return { runs, total: Math.max(total, runs.length) };
  }
  const halted = await list(server, `${open} AND Phase = "Halted"`);
  const others = halted.length < mostListed ? await list(server, `${open} AND Phase != "Halted"`) : [];
  return { runs: [...halted, ...others].slice(0, mostListed), total };
}

/** Counts the open rollouts of a cluster by phase without listing them, for a namespace with too many rollouts. */
export async function countByPhase(server: Server, cluster: string): Promise<Record<string, number>> {
  const query = `${open} AND ${cluster === "" ? "KubernetesCluster IS NULL" : `KubernetesCluster = "${cluster}"`}`;
  const counts = await grouped(server, query) ?? await Promise.all(
    phases.map(async (phase): Promise<[string, number]> => [
      phase,
      await countOf(server, `${query} AND Phase = "${phase}"`),
    ]),
  );
  return Object.fromEntries(counts.filter(([, count]) => count > 0));
}

// Returns the number of runs that match the query, by phase. Returns undefined on a Temporal server with an SQL
// database, which can group only by ExecutionStatus.
async function grouped({ namespace, service }: Server, query: string): Promise<[string, number][] | undefined> {
  try {
    const request = { namespace, query: `${query} GROUP BY Phase` };
    const { groups } = await service.workflowService.countWorkflowExecutions(request);
    return (groups ?? []).map(({ groupValues, count }) => [textOf(groupValues?.[0]) || "Unknown", Number(count)]);
  } catch (error) {
    if (codeOf(error) === invalidArgument) return undefined;
    throw error;
  }
}

async function countOf({ namespace, service }: Server, query: string): Promise<number> {
  return Number((await service.workflowService.countWorkflowExecutions({ namespace, query })).count ?? 0);
}

async function list({ namespace, service }: Server, query: string): Promise<OpenRun[]> {
  return await pagesOf(mostListed, async (page) => {
    const request = { namespace, query, pageSize: 1000, ...page };
    const { executions, nextPageToken } = await service.workflowService.listWorkflowExecutions(request);
    const items = (executions ?? []).map(runOf).filter((run) => run !== undefined);
    return { items, nextPageToken: nextPageToken ?? null };
  });
}

type Execution = NonNullable<Awaited<ReturnType<Service["listWorkflowExecutions"]>>["executions"]>[number];

function runOf({ execution, searchAttributes, startTime }: Execution): OpenRun | undefined {
  const workflowId = execution?.workflowId ?? "";
  const pool = poolIn(workflowId);
  if (pool === undefined) return undefined;
  const fields = searchAttributes?.indexedFields ?? {};
  const startedAt = timeOf(startTime);
  return {
    workflowId,
    pool,
    phase: printable(textOf(fields["Phase"]), 40) || "Unknown",
    image: printable(textOf(fields["TargetImage"])),
    ...(startedAt === undefined ? {} : { startedAt }),
  };
}

/** Returns the pool of a rollout's workflow id; undefined for other ids. Pure. */
export function poolIn(workflowId: string): OpenRun["pool"] | undefined {
  const [name = "", second = "", third = "", fourth = ""] = workflowId.split("/").reverse();
  const isGroup = second === "scaling-group";
  const cluster = isGroup ? third : fourth;
  const ofNamespace = third === "node-pool" ? poolOfNodePool(second, name) : { namespace: second, name };
  const pool = isGroup ? poolOfGroup(name) : ofNamespace;
  const known = cluster === "" ? pool : { cluster, ...pool };
  const isOurs = workflowIdOf(known) === workflowId && (cluster === "" || isClusterName(cluster));
  return isOurs && printable(workflowId, 1000) === workflowId
    ? { cluster, namespace: pool.namespace, name: pool.name }
    : undefined;
}
