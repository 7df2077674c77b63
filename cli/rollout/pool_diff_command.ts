/** `ostler diff POOL`: shows the effect of a pending change. */
import { machineDeployments } from "../../activities/kube/resources.ts";
import type { PoolRef } from "../../workflows/contracts/mod.ts";
import { clusterFailure, type NamedCluster } from "../connect/cluster.ts";
import type { World } from "../connect/world.ts";
import { Refusal } from "../failure.ts";
import { calledAs, type Terminal } from "../terminal.ts";
import { UsageError } from "../usage_error.ts";
import { changeText, isChange } from "../view/change_text.ts";
import { asData } from "../view/output.ts";
import type { ClusterFlags } from "./cluster_command.ts";
import { type PendingChange, pendingChange } from "./pending_change.ts";
import { chosenBy, objectText, poolName, rawObject, readRow } from "./pools.ts";

/**
 * Prints the change; returns exit code 0 without a pending change, else 1. Throws UsageError if the pool does not exist
 * or may not be read.
 */
export async function diffPool(
  terminal: Terminal,
  world: World,
  flags: ClusterFlags & { pool: string; output: "text" | "json" },
): Promise<number> {
  const cluster = await world.cluster();
  const chosen = chosenBy(flags, cluster, false);
  if (chosen.kind !== "one") return 0;
  const { pool } = chosen;
  // Exit code 0 means "no change", which must not be the answer for a pool without a template.
  if (pool.kind !== undefined && pool.kind !== "MachineDeployment") {
    const show = `${calledAs(terminal)} plan -n ${pool.namespace} ${pool.name}`;
    throw new UsageError(
      `Failed to compare ${objectText(pool)}: only a MachineDeployment has a template; \`${show}\` shows the change`,
    );
  }
  const change = await changeOf(cluster, pool);
  const data = asData(flags.output === "json" ? "json" : "table", { ...pool, ...change });
  terminal.out(data ?? `${poolName(pool)}\n${changeText(terminal, change)}`);
  return isChange(change) ? 1 : 0;
}

// Exit code 1 means a difference, so a pool that is missing or not readable must have another exit code.
async function changeOf(cluster: NamedCluster, pool: PoolRef): Promise<PendingChange> {
  try {
    const row = await readRow(cluster, pool);
    const deployment = await rawObject(cluster.kube, machineDeployments, pool);
    return await pendingChange(cluster.kube, { row, deployment });
  } catch (error) {
    const failure = clusterFailure(cluster.server, error);
    throw failure instanceof Refusal ? new UsageError(failure.message, { cause: failure }) : failure;
  }
}
