/** Prevents a command from reaching a pool of the same name in another cluster that shares the Temporal namespace. */
import { workflowIdOf } from "../../workflows/commands/start_options.ts";
import { isClusterName } from "../connect/cluster_name.ts";
import { type Home, needOwn } from "../connect/home.ts";
import { UsageError } from "../usage_error.ts";
import { printable } from "../view/printable.ts";
import type { PoolRow } from "./pool_row.ts";
import { poolName } from "./pools.ts";

/**
 * Throws UsageError if a command would reach another cluster: if the Schedule has another UID than this cluster, or,
 * while either UID is unknown, if a Rollout names a workflow of another cluster.
 */
export function checkHome(verb: string, rows: readonly PoolRow[], home: Home): void {
  // After the cluster was renamed, a Rollout names the previous workflow until its next run, so the UID decides.
  if (home.owner === "This") return;
  for (const { pool, status: { workflowId } = { workflowId: "" } } of rows) {
    const name = otherCluster(workflowId, pool);
    if (name === undefined) continue;
    const ids = `its workflow is "${printable(workflowId)}", not "${workflowIdOf(pool)}"`;
    throw new UsageError(`Failed to ${attemptOf(verb, pool)}: ${ids}; give --cluster ${name === "" ? '""' : name}`);
  }
  for (const { pool } of rows) needOwn(home, attemptOf(verb, pool));
}

function attemptOf(verb: string, pool: PoolRow["pool"]): string {
  return `${verb} the rollout of "${poolName(pool)}"`;
}

/**
 * Returns the cluster name in a workflow id; undefined if `pool` has the same cluster name, or if the rest of the id is
 * not that of `pool`.
 */
function otherCluster(workflowId: string, { cluster = "", ...pool }: PoolRow["pool"]): string | undefined {
  const plain = workflowIdOf(pool);
  if (!`/${workflowId}`.endsWith(`/${plain}`)) return undefined;
  const name = workflowId.slice(0, -plain.length).replace(/\/$/, "");
  return name !== cluster && (name === "" || isClusterName(name)) ? name : undefined;
}
