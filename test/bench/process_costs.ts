/** The CPU time and memory that processes use for some work, between two moments. */
import type { SupervisedProcess } from "../../deploy/local/process/supervised_process.ts";
import { loadOf } from "./process_load.ts";

/** The costs of one process. */
export interface Cost {
  cpuSeconds: number;
  /** Maximum memory since the process was started. */
  peakMib: number;
}

export type Costs = Record<string, Cost>;

/** Begins to count the costs; a process that starts later is counted from its own start. */
export async function countCosts(running: Record<string, SupervisedProcess>): Promise<
  (all: Record<string, SupervisedProcess>) => Promise<Costs>
> {
  const before = await loads(running);
  return async (all) => {
    const after = await loads(all);
    const since = (name: string, { cpuSeconds }: Cost): number => cpuSeconds - (before[name]?.cpuSeconds ?? 0);
    const entries = Object.entries(after).map(([name, cost]) => [name, { ...cost, cpuSeconds: since(name, cost) }]);
    return Object.fromEntries(entries);
  };
}

async function loads(processes: Record<string, SupervisedProcess>): Promise<Costs> {
  const running = Object.entries(processes).filter(([, { pid }]) => pid !== undefined);
  const each = running.map(async ([name, { pid = 0 }]) => {
    const { cpuSeconds, peakMib } = await loadOf(pid);
    return [name, { cpuSeconds, peakMib }] as const;
  });
  return Object.fromEntries(await Promise.all(each));
}
