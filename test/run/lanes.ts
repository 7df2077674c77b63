/** Runs jobs concurrently, as far as the cores and their order allow. */
import { usualPorts } from "../../deploy/local/process/free_ports.ts";

/** A piece of work that may have to wait for other jobs. */
export interface Job {
  /** The name of the step or group that the job is part of. */
  readonly name: string;
  /** The names of steps or groups of which all jobs must have ended before this job begins. */
  readonly after: readonly string[];
  /** How many cores the job keeps busy; Infinity for a job that has to run alone. */
  readonly load: number;
}

/** How many cores may be busy at once, and how many jobs may run at once. */
export interface Room {
  readonly cores: number;
  readonly lanes: number;
}

/**
 * Runs all jobs, each in its own lane (from 0). The first job that is ready and fits into the free cores begins first;
 * when nothing runs, any job fits. Results keep the order of the jobs.
 */
export async function inLanes<One extends Job, Result>(
  jobs: readonly One[],
  { cores, lanes }: Room,
  work: (job: One, lane: number) => Promise<Result>,
): Promise<Result[]> {
  const results: Result[] = [];
  const waiting = new Set(jobs.keys());
  const running = new Map<number, { job: One; done: Promise<number> }>();
  const jobAt = (at: number): One => jobs[at] as One;
  const mayBegin = (at: number): boolean => {
    const { after, load } = jobAt(at);
    const busy = [...running.values()].reduce((sum, { job }) => sum + job.load, 0);
    // Loads are decimal fractions, whose sum may be slightly off.
    const fits = running.size === 0 || busy + load <= cores + 0.01;
    const left = [...[...waiting].map(jobAt), ...[...running.values()].map(({ job }) => job)];
    return fits && running.size < lanes && !left.some(({ name }) => after.includes(name));
  };
  const begin = (at: number): void => {
    waiting.delete(at);
    const lane = Array.from({ length: lanes }, (_, each) => each).find((each) => !running.has(each)) ?? 0;
    const done = work(jobAt(at), lane).then((result) => {
      results[at] = result;
      return lane;
    });
    running.set(lane, { job: jobAt(at), done });
  };
  while (waiting.size > 0 || running.size > 0) {
    for (let at = [...waiting].find(mayBegin); at !== undefined; at = [...waiting].find(mayBegin)) begin(at);
    if (running.size === 0) throw new Error("Failed to begin any remaining job: they wait for each other");
    running.delete(await Promise.race([...running.values()].map(({ done }) => done)));
  }
  return results;
}

/** Returns the range of ports that servers of a lane may use, in the format of OSTLER_PORTS. */
export function portsOf(lane: number, lanes: number): string {
  const { first, last } = usualPorts;
  const share = Math.floor((last - first + 1) / lanes);
  return `${first + lane * share}-${first + (lane + 1) * share - 1}`;
}
