import Table from "cli-table3";
import type { DemoReport } from "./demo_report.ts";
import { shortImage } from "./machine_board.ts";

/** The end of the story as text: what became of each machine, and what was checked. */
export function finalText(report: DemoReport): string {
  return [machineTable(report), checkTable(report), ...troubles(report), verdict(report)].join("\n");
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
  const table = plainTable(["checked at every moment of the rollout", "seen", ""]);
  const row = (promise: string, seen: string, ok: boolean): void =>
    void table.push([promise, seen, ok ? "kept" : "BROKEN"]);
  row(`never fewer than ${readyNodes.wanted} Ready nodes`, `${readyNodes.min} at least`, readyNodes.ok);
  row(`never more than ${machines.allowed} machines`, `${machines.max} at most`, machines.ok);
  row("no secret ever missing", `${secrets.missing} times missing`, secrets.ok);
  row("the observer saw everything", `${observerGaps} gaps`, observerGaps === 0);
  row("the worker was killed on the way", workerKilled ? "once" : "never", workerKilled);
  row("in the end all machines are new", `${updated.count} of ${updated.wanted}`, updated.ok);
  return table.toString();
}

function troubles({ violations, gaps }: DemoReport): string[] {
  return [...violations.map(({ at, message, names }) => `${at} ${message}: ${names.join(", ") || "none"}`), ...gaps];
}

function verdict({ ok, durations }: DemoReport): string {
  const { tools, stack, create, roll } = durations;
  const times = `tools ${seconds(tools)}, stack ${seconds(stack)}, creation ${seconds(create)}, rollout ${
    seconds(roll)
  }`;
  return `${ok ? "Every promise was kept" : "A promise was BROKEN"} (${times})`;
}

function seconds(value: number): string {
  return `${value.toFixed(1)} s`;
}

function plainTable(head: string[]): Table.Table {
  return new Table({ head, style: { head: [], border: [], compact: true } });
}
