/** Keeps a command from another cluster's pool of the same name, if two clusters share a namespace of Temporal. */
import { workflowIdOf } from "../../workflows/commands/start_options.ts";
import { isClusterName } from "../connect/cluster_name.ts";
import { type Home, needOwn } from "../connect/home.ts";
import { UsageError } from "../usage_error.ts";
import { printable } from "../view/printable.ts";
import type { PoolRow } from "./pool_row.ts";
import { poolName } from "./pools.ts";

/**
 * Throws UsageError if a command would reach another cluster: by the UID in the Schedule, or, without one of the two
 * UIDs, by the workflow that a Rollout names.
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

/** Returns the cluster name in the workflow id of a pool; undefined for the name of `pool`, or another form of id. */
function otherCluster(workflowId: string, { cluster = "", ...pool }: PoolRow["pool"]): string | undefined {
  const plain = workflowIdOf(pool);
  if (!`/${workflowId}`.endsWith(`/${plain}`)) return undefined;
  const name = workflowId.slice(0, -plain.length).replace(/\/$/, "");
  return name !== cluster && (name === "" || isClusterName(name)) ? name : undefined;
}
