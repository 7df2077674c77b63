/** What a running process costs, as the kernel counts it; its children, such as those that render, are counted in. */
import { readdir, readFile } from "node:fs/promises";

export interface ProcessLoad {
  /** Seconds of a core since it began. */
  cpuSeconds: number;
  /** MiB that are resident. */
  residentMib: number;
}

/** Clock ticks a second, in which Linux counts CPU time for programs. */
const ticks = 100;

/** The load of a process and of all below it, at this moment. */
export async function loadOf(pid: number): Promise<ProcessLoad> {
  const family = [pid, ...await descendantsOf(pid)];
  const loads = await Promise.all(family.map((each) => ownLoad(each).catch(() => undefined)));
  const known = loads.filter((load) => load !== undefined);
  return {
    cpuSeconds: known.reduce((sum, { cpuSeconds }) => sum + cpuSeconds, 0),
    residentMib: known.reduce((sum, { residentMib }) => sum + residentMib, 0),
  };
}

async function ownLoad(pid: number): Promise<ProcessLoad> {
  const status = await readFile(`/proc/${pid}/status`, "utf8");
  const kib = Number(/^VmRSS:\s+(\d+)/m.exec(status)?.[1] ?? 0);
  // Its name, in parentheses, may hold anything.
  const [user, system] = (await statOf(pid)).slice(11, 13).map(Number);
  return { cpuSeconds: ((user ?? 0) + (system ?? 0)) / ticks, residentMib: Math.round(kib / 1024) };
}

async function descendantsOf(pid: number): Promise<number[]> {
  const all = (await readdir("/proc")).map(Number).filter((each) => Number.isInteger(each) && each > 0);
  const parents = new Map<number, number>();
  for (const each of all) {
    const stat = await statOf(each).catch(() => []);
    parents.set(each, Number(stat[1]));
  }
  const isBelow = (each: number | undefined): boolean =>
    each !== undefined && each > 1 && (parents.get(each) === pid || isBelow(parents.get(each)));
  return all.filter((each) => isBelow(each));
}

/** What follows the name: state, parent and so on. */
async function statOf(pid: number): Promise<string[]> {
  const text = await readFile(`/proc/${pid}/stat`, "utf8");
  return text.slice(text.lastIndexOf(")") + 2).split(" ");
}
