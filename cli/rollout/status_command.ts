/** `ostler status`: how rollouts stand, read off Kubernetes alone. */
import type { World } from "../connect/world.ts";
import type { Terminal } from "../terminal.ts";
import { asData, type Format } from "../view/output.ts";
import { poolColumns } from "../view/pool_columns.ts";
import { poolStory } from "../view/pool_story.ts";
import type { ClusterFlags } from "./cluster_command.ts";
import { heldLine, heldNewcomers } from "./held_newcomers.ts";
import { conditionOf, type PoolRow } from "./pool_row.ts";
import { chosenBy, noPools, readRows } from "./pools.ts";

export interface StatusFlags extends ClusterFlags {
  output: Format;
  watch?: boolean;
  /** Asked of Temporal, about all clusters. */
  allClusters?: boolean;
  timeout?: string;
}

/** Shows a table; one named pool also in full. Exit code 0 whatever the state is: `status -w` judges. */
export async function showStatus(terminal: Terminal, world: World, flags: StatusFlags): Promise<number> {
  const cluster = await world.cluster();
  const chosen = chosenBy(flags, cluster, true);
  const [rows, heldBy] = await Promise.all([readRows(cluster, chosen), heldNewcomers(cluster.kube)]);
  const many = { items: rows.map(rowData), ...(heldBy === undefined ? {} : { newMachinesHeldBy: heldBy }) };
  const data = asData(flags.output, chosen.kind === "one" ? rows.map(rowData)[0] : many);
  if (data !== undefined) {
    terminal.out(data);
    return 0;
  }
  if (rows.length === 0) {
    terminal.err(`Nothing to show: ${noPools(chosen)}\n`);
    return 0;
  }
  const now = world.now();
  const namespaces = flags.allNamespaces === true;
  terminal.out(poolColumns(terminal, { rows, now, wide: flags.output === "wide", namespaces }));
  const [row] = rows;
  if (chosen.kind === "one" && row) terminal.out(`\n${poolStory(terminal, { row, now }).join("\n")}\n`);
  terminal.err(heldLine(heldBy));
  return 0;
}

/** A pool for programs: its Rollout's status as it stands there, under the pool's name. */
export function rowData({ pool, generation, replicas, createdAt, raw, status }: PoolRow): object {
  return {
    ...pool,
    generation,
    replicas,
    ...(createdAt === undefined ? {} : { createdAt }),
    ready: status !== undefined && conditionOf(status, "Ready")?.status === "True",
    status: raw ?? null,
  };
}
