/** The last rollouts of a pool, and the Event of one that converged. */
import type { HistoryEntry, PoolEvent, RolloutReport } from "../../workflows/contracts/mod.ts";
import type { RolloutObject } from "../kube/schemas.ts";

/** Entries a Rollout remembers; older ones are in Temporal for as long as its retention says. */
const historyKept = 10;

/** A run that only renewed credentials or found everything in place is not worth a line. */
export function isNews(entry: HistoryEntry, existing: RolloutObject): boolean {
  if (entry.machines > 0 || entry.failed > 0) return true;
  const last = existing.status?.history?.at(-1);
  if (last?.["revision"] !== entry.revision || last["configDigest"] !== entry.configDigest) return true;
  return entry.outcome !== "Converged" && last["outcome"] !== entry.outcome;
}

/** The history with the entry; the same one written twice stays one, as an activity may run again. */
export function appended(entry: HistoryEntry, existing: RolloutObject): object[] {
  const before = (existing.status?.history ?? []).filter(({ startedAt }) => startedAt !== entry.startedAt);
  return [...before, entry].slice(-historyKept);
}

/** The Event of a rollout that converged, where that is news; one that went back is told by the run. */
export function convergence({ history, message }: RolloutReport, existing: RolloutObject): PoolEvent[] {
  if (history?.outcome !== "Converged" || !isNews(history, existing)) return [];
  return [{ type: "Normal", reason: "RolloutConverged", message }];
}
