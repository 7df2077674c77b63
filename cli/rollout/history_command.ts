/** `ostler history`: lists the last rollouts of pools, newest first. */
import type { World } from "../connect/world.ts";
import { styled, type Terminal } from "../terminal.ts";
import { duration } from "../view/durations.ts";
import { asData, type Format } from "../view/output.ts";
import { plainTable } from "../view/plain_table.ts";
import type { ClusterFlags } from "./cluster_command.ts";
import { type HistoryRow, type PoolRow, wholeHistory } from "./pool_row.ts";
import { chosenBy, noPools, poolName, readRows } from "./pools.ts";

const longestReason = 60;
const head = ["ENDED", "REVISION", "IMAGE", "DIGEST", "MACHINES", "FAILED", "TOOK", "ACTOR", "OUTCOME"];

/** Prints the history that the Rollouts contain; for older rollouts, see Temporal's web UI until its retention ends. */
export async function showHistory(
  terminal: Terminal,
  world: World,
  flags: ClusterFlags & { output: Format },
): Promise<number> {
  const cluster = await world.cluster();
  const chosen = chosenBy(flags, cluster, true);
  const rows = await readRows(cluster, chosen);
  const items = rows.map((row) => ({ ...row.pool, history: wholeHistory(row).reverse() }));
  const data = asData(flags.output, chosen.kind === "one" ? items[0] : { items });
  if (data !== undefined) {
    terminal.out(data);
    return 0;
  }
  const told = rows.flatMap((row) => (row.status?.history ?? []).map((entry) => ({ row, entry })));
  if (told.length === 0) {
    const [row] = rows;
    terminal.err(
      `${
        row && chosen.kind === "one"
          ? `No rollout of "${poolName(row.pool)}" has ended yet`
          : noHistory(rows, noPools(chosen))
      }\n`,
    );
    return 0;
  }
  terminal.out(historyTable(terminal, told, { wide: flags.output === "wide", named: chosen.kind === "many" }));
  return 0;
}

function noHistory(rows: readonly PoolRow[], none: string): string {
  return rows.length === 0 ? `Nothing to show: ${none}` : "No rollout of these pools has ended yet";
}

interface Shape {
  /** Whether each line starts with the pool, for several pools. */
  named: boolean;
  wide: boolean;
}

/** Returns a table with one line per rollout, newest first. */
function historyTable(
  terminal: Terminal,
  told: readonly { row: PoolRow; entry: HistoryRow }[],
  { named, wide }: Shape,
): string {
  const newest = [...told].sort((a, b) => b.entry.endedAt.localeCompare(a.entry.endedAt));
  const lines = newest.map(({ row, entry }) => [
    ...(named ? [poolName(row.pool)] : []),
    ...cells(terminal, entry, wide),
    ...(wide ? [entry.kubelet] : []),
    wide ? entry.reason : inShort(entry.reason),
  ]);
  return plainTable(lines, [...(named ? ["POOL"] : []), ...head, ...(wide ? ["KUBELET"] : []), "REASON"]);
}

// A reason may include all evidence about a machine; -o wide prints it in full.
function inShort(reason: string): string {
  return reason.length > longestReason ? `${reason.slice(0, longestReason)}…` : reason;
}

function cells(terminal: Terminal, entry: HistoryRow, wide: boolean): string[] {
  return [
    entry.endedAt.replace("T", " ").replace(/(:\d\d)(\.\d+)?Z$/, "$1Z"),
    entry.revision,
    entry.image,
    wide ? entry.configDigest : entry.configDigest.slice(0, 12),
    String(entry.machines),
    String(entry.failed),
    tookText(entry),
    entry.actor,
    styled(terminal, entry.outcome === "Converged" ? "green" : "yellow", entry.outcome),
  ];
}

function tookText({ seconds, startedAt, endedAt }: HistoryRow): string {
  const took = seconds ?? (Date.parse(endedAt) - Date.parse(startedAt)) / 1000;
  return Number.isNaN(took) ? "" : duration(took);
}
