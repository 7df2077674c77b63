import type { RollOutResult } from "../../../workflows/contracts/mod.ts";
import type { ObserverReport, Violation } from "../observer/observer_report.ts";

/** The history of one machine, from the results of the workflow. */
interface MachineRecord {
  machine: string;
  image: string;
  kubelet: string;
  joinedSeconds: number;
  /** Seconds that the drain of the machine took; null for a machine that was not replaced. */
  drainedSeconds: number | null;
  replacedBy: string | null;
}

/** Seconds that each part of the story took. */
export interface Durations {
  tools: number;
  stack: number;
  create: number;
  roll: number;
}

/** The report of the demo, which `--json` prints. */
export interface DemoReport {
  ok: boolean;
  seed: number;
  replicas: number;
  durations: Durations;
  machines: MachineRecord[];
  checks: {
    readyNodes: { min: number; wanted: number; ok: boolean };
    machines: { max: number; allowed: number; ok: boolean };
    secrets: { missing: number; ok: boolean };
    /** The number of machines with the new image and kubelet at the end. */
    updated: { count: number; wanted: number; ok: boolean };
    observerGaps: number;
  };
  workerKilled: boolean;
  webUi: string;
  violations: Violation[];
  /** Periods in which the observer may have missed changes, one sentence each. */
  gaps: string[];
}

/** The results and observations of a demo, from which its report is made. */
export interface Findings {
  seed: number;
  replicas: number;
  durations: Durations;
  results: readonly RollOutResult[];
  observed: ObserverReport;
  updated: number;
  workerKilled: boolean;
  webUi: string;
}

/** Returns the report; it is `ok` only if all checks passed, the observer missed nothing, and the worker was killed. */
export function demoReport(findings: Findings): DemoReport {
  const { seed, replicas, durations, results, observed, workerKilled, webUi } = findings;
  const { readyNodes, machines, secrets, gaps, violations } = observed;
  const updated = { count: findings.updated, wanted: replicas, ok: findings.updated === replicas };
  return {
    ok: observed.ok && updated.ok && workerKilled,
    ...{ seed, replicas, durations },
    machines: machineRecords(results),
    checks: {
      readyNodes,
      machines: { max: Math.max(machines.max, machines.objects), allowed: machines.allowed, ok: machines.ok },
      secrets: { missing: secrets.missing, ok: secrets.ok },
      updated,
      observerGaps: gaps.length,
    },
    ...{ workerKilled, webUi, violations, gaps },
  };
}

/** Returns one record for each machine, in the order of joining. */
function machineRecords(results: readonly RollOutResult[]): MachineRecord[] {
  const replaced = new Map(results.flatMap(({ replacements }) => replacements).map((each) => [each.machine, each]));
  const joins = new Map(results.flatMap(({ joins }) => joins).map((each) => [each.machine, each]));
  return [...joins.values()].map(({ machine, image, kubelet, joinedSeconds }) => {
    const { drainedSeconds = null, replacedBy = null } = replaced.get(machine) ?? {};
    return { machine, image, kubelet, joinedSeconds, drainedSeconds, replacedBy };
  });
}
