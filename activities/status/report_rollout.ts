/** Writes what people read: the Rollout object of a pool. */
import { activityInfo } from "@temporalio/activity";
import type { Condition, HistoryEntry, PoolEvent, PoolRef, RolloutReport } from "../../workflows/contracts.ts";
import type { Kube } from "../kube/client.ts";
import { createObject, machineDeployments, patchStatus, readObject, rollouts } from "../kube/resources.ts";
import type { MachineDeployment, RolloutObject } from "../kube/schemas.ts";
import { attempting, ifFound, statusOf } from "../kube/status.ts";
import { emitEvents } from "./events.ts";

export interface ReportOrder {
  pool: PoolRef;
  report: RolloutReport;
  events: PoolEvent[];
}

/** Entries a Rollout remembers; older ones are in Temporal for as long as its retention says. */
const historyKept = 10;

/** Creates or updates the Rollout and emits the Events; does nothing for a MachineDeployment that is gone. */
export function ensureRolloutReported(kube: Kube, { pool, report, events }: ReportOrder): Promise<void> {
  return attempting(`report on "${pool.namespace}/${pool.name}"`, async () => {
    const deployment = await ifFound(readObject(kube, machineDeployments, pool));
    if (!deployment) return;
    const existing = await ensureRollout(kube, pool, deployment);
    await patchStatus(kube, rollouts, { ...pool, status: statusFrom(report, existing) });
    await emitEvents(kube, deployment, [...events, ...convergence(report, existing)]);
  });
}

async function ensureRollout(kube: Kube, pool: PoolRef, deployment: MachineDeployment): Promise<RolloutObject> {
  const existing = await ifFound(readObject(kube, rollouts, pool));
  if (existing) return existing;
  const { name, uid } = deployment.metadata;
  const owner = { apiVersion: "cluster.k8s.io/v1alpha1", kind: "MachineDeployment", name, uid };
  const apiVersion = `${rollouts.group}/${rollouts.version}`;
  try {
    const metadata = { ...pool, ownerReferences: [owner] };
    await createObject(kube, rollouts, { apiVersion, kind: "Rollout", metadata, spec: {} });
  } catch (error) {
    if (statusOf(error) !== 409) throw error;
  }
  return await readObject(kube, rollouts, pool);
}

function statusFrom(report: RolloutReport, existing: RolloutObject): object {
  const { history, conditions, ...plain } = report;
  const { workflowId, runId } = activityInfo().workflowExecution ?? { workflowId: "", runId: "" };
  return {
    ...plain,
    ...{ workflowId, runId },
    conditions: conditions.map((condition) => timed(condition, existing)),
    ...(history && isNews(history, existing) ? { history: appended(history, existing) } : {}),
  };
}

// A condition keeps the time of its last change of status, as the Kubernetes conventions say.
function timed(condition: Condition, existing: RolloutObject): object {
  const before = existing.status?.conditions?.find(({ type }) => type === condition.type);
  const unchanged = before?.status === condition.status && before.lastTransitionTime;
  return { ...condition, lastTransitionTime: unchanged || new Date().toISOString() };
}

// A run that only renewed credentials or found everything in place is not worth a line.
function isNews(entry: HistoryEntry, existing: RolloutObject): boolean {
  const last = existing.status?.history?.at(-1);
  return entry.machines > 0 || last?.["revision"] !== entry.revision || last["configDigest"] !== entry.configDigest;
}

function convergence({ history, message }: RolloutReport, existing: RolloutObject): PoolEvent[] {
  return history && isNews(history, existing) ? [{ type: "Normal", reason: "RolloutConverged", message }] : [];
}

// The same entry written twice stays one: an activity may run again.
function appended(entry: HistoryEntry, existing: RolloutObject): object[] {
  const before = (existing.status?.history ?? []).filter(({ startedAt }) => startedAt !== entry.startedAt);
  return [...before, entry].slice(-historyKept);
}
