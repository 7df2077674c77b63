/** One frame of the live view of `ostler status -w`. */
import type { Progress } from "../../workflows/contracts/mod.ts";
import type { PoolRow } from "../rollout/pool_row.ts";
import { awaitedVersion, verdictOf } from "../rollout/verdict.ts";
import { styled, type Terminal } from "../terminal.ts";
import { clockSeconds, duration, etaText, localTimes } from "./durations.ts";
import { phaseText, poolColumns } from "./pool_columns.ts";
import { isUnderWay, poolStory } from "./pool_story.ts";
import { stripVTControlCharacters } from "node:util";

export interface Frame {
  rows: readonly PoolRow[];
  /** The progress of the run, if only one pool is watched. */
  progress?: Progress | undefined;
  now: number;
  /** Epoch ms of the start of the rollout, if only one pool is watched and that start is known; else of the watch. */
  since: number;
  /** The failure of the last read; `rows` are then from the last successful read. */
  trouble?: string | undefined;
}

/** Returns one pool in full, or a table of several. */
export function liveFrame(terminal: Terminal, frame: Frame): string {
  const { rows, now, trouble } = frame;
  const [row, ...others] = rows;
  const screen = { columns: terminal.columns?.() || 80, rows: terminal.rows?.() || 24 };
  const last = trouble === undefined ? [] : ["", styled(terminal, "red", cutLine(trouble, screen.columns))];
  const room = { ...screen, rows: screen.rows - last.length };
  const body = row !== undefined && others.length === 0
    ? [headline(terminal, row, frame), "", ...poolStory(terminal, { row, progress: frame.progress, now })]
    : manyPools(terminal, frame, room);
  return [...fitted(body, room), ...last].join("\n");
}

// Pools that the watch waits for come first, as many as fit.
function manyPools(terminal: Terminal, { rows, now, since }: Frame, screen: Screen): string[] {
  const rank = { UnderWay: 0, Failed: 1, Ready: 2 };
  const ordered = [...rows].sort((a, b) => rank[verdictOf(a)] - rank[verdictOf(b)]);
  const fitting = Math.max(1, screen.rows - 4);
  const left = Math.max(0, rows.length - fitting);
  const counts = (["UnderWay", "Failed", "Ready"] as const).map((verdict) =>
    rows.filter((row) => verdictOf(row) === verdict).length
  );
  const [underWay, failed, ready] = counts;
  const table = poolColumns(terminal, { rows: ordered.slice(0, fitting), now, namespaces: true }).trimEnd();
  return [
    `${underWay} under way, ${failed} failed, ${ready} ready   elapsed ${duration((now - since) / 1000)}`,
    ...table.split("\n"),
    ...(left > 0 ? [`and ${left} more`] : []),
  ].map((line) => cutLine(line, screen.columns));
}

function waitingText(row: PoolRow): string {
  const version = awaitedVersion(row);
  return version === undefined ? "" : `waiting for NodeVersion "${version}"`;
}

function headline(terminal: Terminal, row: PoolRow, { now, since }: Frame): string {
  const { pool, status } = row;
  const name = styled(terminal, "bold", `${pool.namespace}/${pool.name}`);
  if (status === undefined) return name;
  const parts = [
    phaseText(terminal, status.phase),
    status.updated,
    waitingText(row),
    status.wave === "" ? "" : `wave ${status.wave}`,
    status.failedMachines > 0 ? styled(terminal, "red", `${status.failedMachines} failed`) : "",
    `elapsed ${duration((now - since) / 1000)}`,
    status.eta === "" || !isUnderWay(status) ? "" : `ETA ${etaText(status.eta, now)}`,
  ];
  return [name, ...parts.filter(Boolean)].join("   ");
}

/** Returns the present status of a pool as one line, for output without a terminal. */
export function newsLine(row: PoolRow, now: number): string {
  const { pool, status } = row;
  const head = `${clockSeconds(now, now)} ${pool.namespace}/${pool.name}`;
  if (status === undefined) return `${head} no rollout yet\n`;
  const parts = [
    status.phase,
    status.updated,
    status.wave === "" ? "" : `wave ${status.wave}`,
    status.failedMachines > 0 ? `${status.failedMachines} failed` : "",
    status.paused ? "paused" : "",
    status.blockedReason === "" ? "" : `blocked: ${status.blockedReason}`,
    waitingText(row),
  ];
  return `${head} ${parts.filter(Boolean).join(", ")}: ${localTimes(status.message, now)}\n`;
}

// Fits lines to the screen: an overflow would scroll away the top, which has the most important lines.

interface Screen {
  columns: number;
  rows: number;
}

// deno-lint-ignore no-control-regex -- these are the escapes of styles
const style = /(\x1b\[[\d;]*m)/;

/** Returns a line that is at most as wide as the screen; keeps the escapes after the cut, so that every style ends. */
export function cutLine(line: string, columns: number): string {
  if (widthOf(line) <= columns) return line;
  let left = columns - 1;
  const parts = line.split(style).map((part, index) => {
    if (index % 2 === 1) return part;
    const seen = [...part].slice(0, left);
    const isEnd = left > 0 && seen.length === left;
    left -= seen.length;
    return seen.join("") + (isEnd ? "…" : "");
  });
  return parts.join("");
}

/** Returns the full lines if they fit, else the first lines, each cut. */
export function fitted(lines: readonly string[], { columns, rows }: Screen): string[] {
  const room = Math.max(1, rows - 1); // the cursor is in the line below
  const height = lines.reduce((sum, line) => sum + Math.max(1, Math.ceil(widthOf(line) / columns)), 0);
  return height <= room ? [...lines] : lines.slice(0, room).map((line) => cutLine(line, columns));
}

function widthOf(line: string): number {
  return [...stripVTControlCharacters(line)].length;
}
