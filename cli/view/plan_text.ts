/** Formats the plan of a rollout as text. */
import type { Planned } from "../rollout/planned.ts";
import { styled, type Terminal } from "../terminal.ts";
import { changeText } from "./change_text.ts";
import { counted } from "../../workflows/policy/counted.ts";
import { duration, range } from "./durations.ts";
import { plainTable } from "./plain_table.ts";
import { printable } from "./printable.ts";

interface PlanShape {
  /** Whether to name every machine, instead of the first few. */
  wide: boolean;
  /** The command as the user called it, for suggested commands. */
  program: string;
}

const named = 4;

/**
 * Returns the machines with their order and waves, the change, the blockers, the duration, and the command for
 * approval.
 */
export function planText(terminal: Terminal, planned: Planned, shape: PlanShape): string {
  const { pool, plan, change } = planned;
  const head = styled(terminal, "bold", printable(`${pool.namespace}/${pool.name}: ${summary(planned)}`, Infinity));
  const waves = wavesTable(planned, shape);
  const facts = plainTable(factsOf(planned, shape).map(([title, text]) => [title, printable(text, Infinity)]));
  const changes = change.before === undefined && planned.isNew ? "" : changeText(terminal, change);
  return [`${head}\n`, changes, plan.waves.some(({ size }) => size > 0) ? waves : "", facts].filter(Boolean).join("\n");
}

function summary({ plan, replicas, isNew, change }: Planned): string {
  if (isNew) return `${counted(replicas, "machine")} will be created, no machine is replaced`;
  const count = replaced({ plan });
  if (count === 0) return `nothing to replace, ${allText(plan.machines)} of ${change.after.title}`;
  const waves = plan.waves.filter(({ size }) => size > 0).length;
  return `${count} of ${counted(plan.machines, "machine")} will be replaced, in ${counted(waves, "wave")}`;
}

function allText(machines: number): string {
  if (machines === 0) return "no machines";
  return machines === 1 ? "its 1 machine is" : `all ${machines} machines are`;
}

function replaced({ plan }: Pick<Planned, "plan">): number {
  return plan.waves.reduce((sum, { size }) => sum + size, 0);
}

function wavesTable({ plan }: Planned, { wide }: PlanShape): string {
  const rows = plan.waves.flatMap(({ size, machines, soakSeconds }, index) => {
    if (size === 0) return [];
    return [[
      String(index + 1),
      String(size),
      soakSeconds > 0 ? duration(soakSeconds) : "",
      names(machines, size, wide),
    ]];
  });
  return plainTable(rows, ["WAVE", "MACHINES", "SOAK", "IN THIS ORDER"]);
}

function names(machines: readonly string[], size: number, wide: boolean): string {
  const shown = wide ? machines : machines.slice(0, named);
  const left = size - shown.length;
  return `${shown.map((name) => printable(name, 253)).join(", ")}${
    left > 0 ? `${shown.length > 0 ? " " : ""}and ${left} more` : ""
  }`;
}

function factsOf(planned: Planned, { program }: PlanShape): [string, string][] {
  const { plan, pool, approval, isApplied, policy, warnings = [] } = planned;
  const rows: [string, string][] = plan.blocked.map((message, index) => [index === 0 ? "blocked" : "", message]);
  rows.push(...(plan.stays ?? []).map((message, index): [string, string] => [index === 0 ? "kept" : "", message]));
  rows.push(...warnings.map((message, index): [string, string] => [index === 0 ? "warning" : "", message]));
  rows.push(["policy", policy]);
  if (replaced(planned) === 0) return rows;
  rows.push(["takes", range(plan.seconds)]);
  if (!isApplied) return [...rows, ["approve", "possible after the change is applied"]];
  rows.push(["plan", plan.hash]);
  const command = `${program} approve -n ${pool.namespace} ${pool.name} --plan ${plan.hash}`;
  return [...rows, ["approve", approval === "Never" ? "not required by its policy" : command]];
}
