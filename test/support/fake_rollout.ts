/** The Rollout object of a fake pool: the reports of runs, and what later runs recall. */
import type { Memory, PublishActivities } from "../../workflows/contracts/mod.ts";
import type { HistoryEntry, PoolEvent, RolloutReport } from "../../workflows/contracts/progress.ts";

/** Number of entries that the real object keeps. */
const historyKept = 10;

export interface FakeRollout extends Memory {
  history: HistoryEntry[];
}

/** A pool with a Rollout. */
export interface ReportedPool {
  rollout: FakeRollout;
  reports: RolloutReport[];
  events: PoolEvent[];
  convergedHash: string;
}

/** Returns the state of a pool that no run has reported on. */
export function emptyRollout(): FakeRollout {
  const usual = { join: [], leave: [] };
  return { paused: null, quarantine: [], lastGood: null, usual, left: null, history: [] };
}

/** Returns the state that a run reads, as JSON like the API server returns it. */
export function recall({ rollout }: Pick<ReportedPool, "rollout">): Memory {
  const { history: _, ...memory } = rollout;
  return JSON.parse(JSON.stringify(memory)) as Memory;
}

/** Writes a report; if it has an entry for the history that is new, adds the entry and records an Event. */
export function writeReport(
  pool: ReportedPool,
  { report, events }: Parameters<PublishActivities["ensureRolloutReported"]>[0],
): void {
  const { rollout } = pool;
  const { history: entry, message } = report;
  const last = rollout.history.at(-1);
  const isNews = entry && (entry.machines > 0 || last?.configDigest !== entry.configDigest ||
    last.revision !== entry.revision);
  if (isNews) {
    const others = rollout.history.filter(({ startedAt }) => startedAt !== entry.startedAt);
    rollout.history = [...others, entry].slice(-historyKept);
  }
  pool.reports.push(report);
  const reason = `Rollout${entry?.outcome ?? ""}`;
  pool.events.push(...events, ...(isNews ? [{ type: "Normal", reason, message } as const] : []));
  pool.convergedHash = report.convergedTemplateHash ?? pool.convergedHash;
  remember(pool, report);
}

function remember({ rollout }: ReportedPool, report: RolloutReport): void {
  rollout.observed = report.observed ?? rollout.observed ?? "";
  rollout.paused = report.pausedBy;
  rollout.quarantine = report.quarantine;
  rollout.left = report.left ?? null;
  rollout.usual = report.usual ?? rollout.usual;
  rollout.lastGood = report.lastGood ?? rollout.lastGood;
  rollout.templateHash = report.targetTemplateHash ?? rollout.templateHash ?? "";
  rollout.isOpen = !["Converged", "RolledBack", "Aborted"].includes(report.phase);
  rollout.skipped = report.skipped ?? [];
  rollout.approval = report.approval ?? null;
  if (report.convergedTemplateHash) rollout.isRollingBack = report.convergedTemplateHash === "rolling-back";
}
