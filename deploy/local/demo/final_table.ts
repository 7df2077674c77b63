import Table from "cli-table3";
import type { DemoReport } from "./demo_report.ts";
import { shortImage } from "./machine_board.ts";

/** Returns the report as text: the history of each machine, and the checks. */
export function finalText(report: DemoReport): string {
  return [machineTable(report), checkTable(report), ...failures(report), verdict(report)].join("\n");
}

function machineTable({ machines }: DemoReport): string {
  const table = plainTable(["machine", "image", "kubelet", "joined in", "drained in", "replaced by"]);
  for (const { machine, image, kubelet, joinedSeconds, drainedSeconds, replacedBy } of machines) {
    const drained = drainedSeconds === null ? "" : seconds(drainedSeconds);
    table.push([machine, shortImage(image), kubelet, seconds(joinedSeconds), drained, replacedBy ?? ""]);
  }
  return table.toString();
}

function checkTable({ checks, workerKilled }: DemoReport): string {
  const { readyNodes, machines, secrets, updated, observerGaps } = checks;
  const table = plainTable(["check during the whole rollout", "result", ""]);
  const row = (check: string, result: string, ok: boolean): void =>
    void table.push([check, result, ok ? "passed" : "FAILED"]);
  row(`at least ${readyNodes.wanted} Ready nodes at any time`, `minimum ${readyNodes.min}`, readyNodes.ok);
  row(`at most ${machines.allowed} machines at any time`, `maximum ${machines.max}`, machines.ok);
  row("all secrets exist at any time", `missing ${secrets.missing} times`, secrets.ok);
  row("the observer saw every change", `${observerGaps} gaps`, observerGaps === 0);
  row("the worker was killed during the rollout", workerKilled ? "once" : "never", workerKilled);
  row("all machines are new at the end", `${updated.count} of ${updated.wanted}`, updated.ok);
  return table.toString();
}

function failures({ violations, gaps }: DemoReport): string[] {
  return [...violations.map(({ at, message, names }) => `${at} ${message}: ${names.join(", ") || "none"}`), ...gaps];
}

function verdict({ ok, durations }: DemoReport): string {
  const { tools, stack, create, roll } = durations;
  const times = `tools ${seconds(tools)}, stack ${seconds(stack)}, creation ${seconds(create)}, rollout ${
    seconds(roll)
  }`;
  return `${ok ? "All checks passed" : "A check FAILED"} (${times})`;
}

function seconds(value: number): string {
  return `${value.toFixed(1)} s`;
}

function plainTable(head: string[]): Table.Table {
  return new Table({ head, style: { head: [], border: [], compact: true } });
}
