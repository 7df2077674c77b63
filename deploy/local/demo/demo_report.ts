import type { RollOutResult } from "../../../workflows/contracts/mod.ts";
import type { ObserverReport, Violation } from "../observer/observer_report.ts";

/** What happened to one machine, in the words of the workflow's results. */
export interface MachineRecord {
  machine: string;
  image: string;
  kubelet: string;
  joinedSeconds: number;
  /** Null for a machine that stays. */
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

/** What the demo found: the object that `--json` prints. */
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
    /** How many machines run the new image and kubelet in the end. */
    updated: { count: number; wanted: number; ok: boolean };
    observerGaps: number;
  };
  workerKilled: boolean;
  webUi: string;
  violations: Violation[];
  /** What the observer could not see, in words. */
  gaps: string[];
}

/** What a report is made from. */
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

/** Sums up; `ok` only when every promise was kept and nothing went unseen. */
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

/** One record per machine, in the order in which they joined. */
export function machineRecords(results: readonly RollOutResult[]): MachineRecord[] {
  const leavings = new Map(results.flatMap(({ replacements }) => replacements).map((each) => [each.machine, each]));
  const joins = new Map(results.flatMap(({ joins }) => joins).map((each) => [each.machine, each]));
  return [...joins.values()].map(({ machine, image, kubelet, joinedSeconds }) => {
    const leaving = leavings.get(machine);
    const { drainedSeconds = null, replacedBy = null } = leaving ?? {};
    return { machine, image, kubelet, joinedSeconds, drainedSeconds, replacedBy };
  });
}
