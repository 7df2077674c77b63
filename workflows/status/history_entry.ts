/** One line of a pool's history. */
import type { HistoryEntry } from "../contracts/mod.ts";
import { iso } from "../state/rfc3339.ts";
import type { Seen } from "../state/rollout.ts";

/** The line for a rollout that ends now. */
export function historyEntry(
  { target, machines, records, memory: { rollback } }: Seen<"target" | "machines" | "records" | "memory">,
  outcome: HistoryEntry["outcome"],
): HistoryEntry {
  const { desired, rendering, startedAt } = target;
  const { revision = "", image = "", kubelet = "" } = rollback?.bad ?? desired ?? {};
  return {
    revision,
    image,
    kubelet,
    configDigest: rendering?.configDigest ?? "",
    startedAt: iso(startedAt),
    endedAt: iso(Date.now()),
    outcome,
    machines: records.joins.length,
    failed: machines.failures,
    actor: rollback?.by ?? desired?.actor ?? "unknown",
    reason: rollback?.reason ?? "",
    seconds: Math.round((Date.now() - startedAt) / 1000),
  };
}
