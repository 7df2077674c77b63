/** `ostler diff POOL`: what a change that is pending would alter. */
import { machineDeployments } from "../../activities/kube/resources.ts";
import type { World } from "../connect/world.ts";
import type { Terminal } from "../terminal.ts";
import { changeText, isChange } from "../view/change_text.ts";
import { asData } from "../view/output.ts";
import type { ClusterFlags } from "./cluster_command.ts";
import { pendingChange } from "./pending_change.ts";
import { chosenBy, poolName, rawObject, readRow } from "./pools.ts";

/** Shows it; exit code 0 when nothing is pending, else 1. */
export async function diffPool(
  terminal: Terminal,
  world: World,
  flags: ClusterFlags & { pool: string; output: "text" | "json" },
): Promise<number> {
  const cluster = await world.cluster();
  const chosen = chosenBy(flags, cluster, false);
  if (chosen.kind !== "one") return 0;
  const { pool } = chosen;
  const row = await readRow(cluster, pool);
  const deployment = await rawObject(cluster.kube, machineDeployments, pool);
  const change = await pendingChange(cluster.kube, { row, deployment });
  const data = asData(flags.output === "json" ? "json" : "table", { ...pool, ...change });
  terminal.out(data ?? `${poolName(pool)}\n${changeText(terminal, change)}`);
  return isChange(change) ? 1 : 0;
}
