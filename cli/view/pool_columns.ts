/** Pools as a table with the columns of `kubectl get rollouts`. */
import { styled, type Terminal } from "../terminal.ts";
import { conditionOf, type PoolRow } from "../rollout/pool_row.ts";
import { age, moment } from "./durations.ts";
import { plainTable } from "./plain_table.ts";

interface ColumnOptions {
  rows: readonly PoolRow[];
  now: number;
  /** Adds ETA, pause, revision, image and workflow. */
  wide?: boolean;
  /** Adds the namespace, for pools of several namespaces. */
  namespaces?: boolean;
}

const head = ["NAME", "READY", "PHASE", "UPDATED", "FAILED", "BLOCKED", "WAVE"];
const wideHead = ["ETA", "PAUSED", "REVISION", "IMAGE", "WORKFLOW"];

/** Returns a table with one line per pool. */
export function poolColumns(
  terminal: Terminal,
  { rows, now, wide = false, namespaces = false }: ColumnOptions,
): string {
  const lines = rows.map((row) => [
    ...(namespaces ? [row.pool.namespace] : []),
    row.pool.name,
    ...narrow(terminal, row),
    ...(wide ? further(row, now) : []),
    age(row.createdAt, now),
  ]);
  return plainTable(lines, [...(namespaces ? ["NAMESPACE"] : []), ...head, ...(wide ? wideHead : []), "AGE"]);
}

function narrow(terminal: Terminal, { status }: PoolRow): string[] {
  if (status === undefined) return ["", "no rollout", "", "", "", ""];
  const ready = conditionOf(status, "Ready")?.status ?? "";
  return [
    ready === "True" ? styled(terminal, "green", ready) : ready,
    phaseText(terminal, status.phase),
    status.updated,
    status.failedMachines > 0 ? styled(terminal, "red", String(status.failedMachines)) : "0",
    status.blockedReason === "" ? "" : styled(terminal, "yellow", status.blockedReason),
    status.wave,
  ];
}

function further({ status }: PoolRow, now: number): string[] {
  if (status === undefined) return ["", "", "", "", ""];
  return [moment(status.eta, now), String(status.paused), status.revision, status.image, status.workflowId];
}

/** Returns a phase in the colour of its meaning. */
export function phaseText(terminal: Terminal, phase: string): string {
  if (["Halted", "Aborted"].includes(phase)) return styled(terminal, "red", phase);
  if (["RolledBack", "RollingBack", "Deleting"].includes(phase)) return styled(terminal, "yellow", phase);
  return phase === "Converged" ? styled(terminal, "green", phase) : styled(terminal, "cyan", phase);
}
