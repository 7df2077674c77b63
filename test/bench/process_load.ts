/** The costs of a running process, as the kernel counts them; including its children, such as those that render. */
import { readdir, readFile } from "node:fs/promises";

export interface ProcessLoad {
  /** Seconds of CPU time since the process began, including those of its ended children. */
  cpuSeconds: number;
  /** Resident MiB. */
  residentMib: number;
  /** Maximum MiB, the sum of each process's own maximum. */
  peakMib: number;
}

/** Clock ticks per second, the unit of CPU time in Linux. */
const ticks = 100;

/** The load of a process and its descendants, at this moment. */
export async function loadOf(pid: number): Promise<ProcessLoad> {
  const family = [pid, ...await descendantsOf(pid)];
  const loads = await Promise.all(family.map((each) => ownLoad(each).catch(() => undefined)));
  const known = loads.filter((load) => load !== undefined);
  return {
    cpuSeconds: known.reduce((sum, { cpuSeconds }) => sum + cpuSeconds, 0),
    residentMib: known.reduce((sum, { residentMib }) => sum + residentMib, 0),
    peakMib: known.reduce((sum, { peakMib }) => sum + peakMib, 0),
  };
}

async function ownLoad(pid: number): Promise<ProcessLoad> {
  const status = await readFile(`/proc/${pid}/status`, "utf8");
  const mib = (field: string): number => {
    const [, kib = "0"] = new RegExp(`^${field}:\\s+(\\d+)`, "m").exec(status) ?? [];
    return Math.round(Number(kib) / 1024);
  };
  // `statOf` returns the fields of /proc/PID/stat after the name, which may contain spaces: these four are CPU times.
  const ticksUsed = (await statOf(pid)).slice(11, 15).map(Number).reduce((sum, each) => sum + each, 0);
  return { cpuSeconds: ticksUsed / ticks, residentMib: mib("VmRSS"), peakMib: mib("VmHWM") };
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

/** The fields after the name: state, parent and so on. */
async function statOf(pid: number): Promise<string[]> {
  const text = await readFile(`/proc/${pid}/stat`, "utf8");
  return text.slice(text.lastIndexOf(")") + 2).split(" ");
}
