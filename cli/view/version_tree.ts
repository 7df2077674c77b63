/** A NodeVersion as a tree: its stages, and the groups of each. */
import type { PoolRow } from "../rollout/pool_row.ts";
import { type Stage, stages, type VersionRow } from "../rollout/node_versions.ts";
import { styled, type Terminal } from "../terminal.ts";
import { counted } from "../../workflows/policy/counted.ts";
import { plainTable } from "./plain_table.ts";
import { phaseText } from "./pool_columns.ts";
import { printable } from "./printable.ts";

/**
 * Maximum groups of a stage that are named; in a larger stage, converged groups and those above the maximum are only
 * counted.
 */
const shown = 20;
/** Maximum characters of the text of a condition. */
const longest = 1_000;
const titles: Record<Stage, string> = { ControlPlane: "control planes", Workers: "workers" };

/**
 * Returns a line for the version, a line for each stage that has groups, and below a stage a line for each named group
 * and the number of the others.
 */
export function versionTree(terminal: Terminal, version: VersionRow): string[] {
  const has = stages.filter((stage) => version.groups[stage].length > 0);
  return [
    headOf(terminal, version),
    ...has.flatMap((stage, nth) => branch(terminal, { version, stage, isLast: nth === has.length - 1 })),
  ];
}

function headOf(terminal: Terminal, { name, image, imageVersion, ready }: VersionRow): string {
  const { status, reason, message } = ready;
  const said = reason === "" ? "not evaluated yet" : printable(`${reason}: ${message}`, longest);
  return `nodeversion/${name}  ${printable(imageVersion || image)}  ${
    styled(terminal, status === "True" ? "green" : "yellow", said)
  }`;
}

function branch(
  terminal: Terminal,
  { version, stage, isLast }: { version: VersionRow; stage: Stage; isLast: boolean },
): string[] {
  const groups = version.groups[stage];
  const busy = groups.filter((row) => !isConverged(row));
  const named = groups.length <= shown ? groups : busy.slice(0, shown);
  const left = groups.length - named.length;
  const rows = plainTable(named.map((row) => lineOf(terminal, row))).split("\n").filter((line) => line !== "");
  const leaves = [
    ...rows,
    ...(left > 0 ? [counted(left, "more group")] : []),
  ];
  const indent = isLast ? "   " : "│  ";
  return [
    `${isLast ? "└─" : "├─"} ${titles[stage]}: ${stateOf(version, stage)}`,
    ...leaves.map((line, nth) => `${indent}${nth === leaves.length - 1 ? "└─" : "├─"} ${line}`),
  ];
}

function lineOf(terminal: Terminal, { pool, status }: PoolRow): string[] {
  const name = pool.name.replace(/^scaling-group\./, "sg/");
  if (!status) return [name, "", "no rollout", ""];
  return [name, status.updated, phaseText(terminal, status.phase), isQuiet(status.phase) ? "" : status.message];
}

function stateOf({ groups, released, ready }: VersionRow, stage: Stage): string {
  const done = groups[stage].filter(isConverged).length;
  const of = `${done} of ${counted(groups[stage].length, "group")} converged`;
  const isReleased = released !== undefined && stages.indexOf(stage) <= stages.indexOf(released);
  return isReleased || ready.status === "True" ? of : `waiting for release; ${of}`;
}

function isConverged({ status }: PoolRow): boolean {
  return status !== undefined && isQuiet(status.phase);
}

function isQuiet(phase: string): boolean {
  return phase === "Converged";
}
