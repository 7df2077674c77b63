/** Writes the status of a pool: its Rollout object. */
import type { Cluster } from "../cluster.ts";
import { activityInfo } from "@temporalio/activity";
import type {
  Condition,
  HistoryEntry,
  Memory,
  PoolEvent,
  PoolRef,
  RolloutReport,
} from "../../workflows/contracts/mod.ts";
import { refused } from "../failures.ts";
import { createObject, patchStatus, readObject, type RolloutObject, rollouts } from "../kube/resources.ts";
import { backendOf } from "../backends/registry.ts";
import { attempting, statusOf } from "../kube/status.ts";
import { isAtRest, isEnded } from "./at_rest.ts";
import { caBundlesIn, withBundle } from "./ca_record.ts";
import { type Pin, pinOf } from "./pin.ts";
import { emitEvents, machineDeployment, type Subject } from "./events.ts";
import { forgetRollout, isKnownToBeAbsent, keepRollout, knownRollout, readRollout } from "./known_rollouts.ts";
import { memoryOf, quarantineKept, skippedKept, usualKept } from "./recall.ts";
import { inputsIn } from "../config/observed.ts";

export interface ReportOrder {
  pool: PoolRef;
  report: RolloutReport;
  events: PoolEvent[];
}

/** Maximum number of steps that the status shows, and of pods that block one of them. */
const underwayShown = 20;
const blockersShown = 5;
/**
 * Maximum number of waves that the status shows. They begin `wavesBehind` waves before the current one, or earlier if
 * less than the maximum would be shown.
 */
const wavesShown = 50;
const wavesBehind = 5;
/** Maximum characters of a `message`, and of any other text: users may write long reasons when they pause or abort. */
const longestMessage = 32_768;
const longestWord = 1_024;

/**
 * Creates or updates the Rollout and emits the Events; does nothing if the object of the pool, such as its
 * MachineDeployment, was deleted. That object owns the Rollout, so a Rollout that is not being deleted proves that the
 * object exists.
 */
export function ensureRolloutReported(kube: Cluster, order: ReportOrder): Promise<void> {
  const { pool } = order;
  return attempting(`update Rollout "${pool.namespace}/${pool.name}"`, async () => {
    const isRolling = !isAtRest(order.report);
    const unheld = await backendOf(kube, pool).autoscaling(pool, { isRolling });
    const known = knownRollout(kube, pool);
    if (known && await reportOn(kube, order, { existing: known, isRead: false, unheld }) === "Reported") return;
    const found = isKnownToBeAbsent(kube, pool) ? undefined : await readRollout(kube, pool);
    const existing = found ?? await createRollout(kube, pool);
    // A late attempt of this activity must not hold the autoscaler after its run has reported its end, because no later
    // report of that run would release the autoscaler. A run that begins again after an abort holds the autoscaler with
    // its next report.
    if (isRolling && isEndOfThisRun(existing)) await backendOf(kube, pool).autoscaling(pool, { isRolling: false });
    if (existing) await reportOn(kube, order, { existing, isRead: true, unheld });
  });
}

function isEndOfThisRun(existing: RolloutObject | undefined): boolean {
  const { phase, runId } = existing?.status ?? {};
  return runId === executionOf().runId && isEnded(phase);
}

/**
 * Adds the condition AutoscalerHeld with status False and `message`, because an autoscaler may remove machines of the
 * rollout. Adds nothing if `message` is empty, because then no autoscaler may remove them.
 */
function withUnheld(report: RolloutReport, message: string): RolloutReport {
  if (message === "") return report;
  const unheld = { type: "AutoscalerHeld", status: "False", reason: "NoStrategy", message } as const;
  return { ...report, conditions: [...report.conditions, unheld] };
}

/**
 * Writes the report, unless the object of the pool was deleted. Returns "Overtaken" if the Rollout was not just read
 * (`isRead`) and has changed since the last read; nothing is written then.
 */
async function reportOn(
  kube: Cluster,
  { pool, report, events }: ReportOrder,
  { existing, isRead, unheld }: { existing: RolloutObject; isRead: boolean; unheld: string },
): Promise<"Reported" | "Overtaken"> {
  const about = await subjectOf(kube, pool, existing);
  if (!about) return "Reported";
  const taken = takenBack(memoryOf(existing), report);
  // The backend's pin ends before the new quarantine is written: if this attempt fails, the next one still finds the
  // changes that left the quarantine.
  if (taken.length > 0) await backendOf(kube, pool).endPin?.(pool, taken);
  const resourceVersion = isRead ? undefined : existing.metadata.resourceVersion;
  const { namespace, name } = pool;
  try {
    const status = statusFrom(withUnheld(report, unheld), existing);
    const written = await patchStatus(kube, rollouts, { namespace, name, resourceVersion, status });
    keepRollout(kube, pool, written);
  } catch (error) {
    forgetRollout(kube, pool);
    if (!isRead && [404, 409].includes(statusOf(error) ?? 0)) return "Overtaken";
    throw error;
  }
  await emitEvents(kube, about, [...events, ...convergence(report, existing)]);
  return "Reported";
}

/**
 * Returns the object that a Rollout is about: from the owner reference if that names the MachineDeployment and the
 * Rollout is not being deleted, otherwise by a read; undefined if the object was deleted. Throws Refused if the Rollout
 * belongs to an object of another kind.
 */
async function subjectOf(
  kube: Cluster,
  pool: PoolRef,
  { metadata: { ownerReferences = [], deletionTimestamp } }: RolloutObject,
): Promise<Subject | undefined> {
  const { kind: wanted = "MachineDeployment" } = pool;
  const other = ownerReferences.find(({ kind }) => kind !== wanted);
  if (other) {
    const state = `it belongs to ${other.kind} "${other.name}"`;
    throw refused(
      "NameCollision",
      `Failed to update Rollout "${pool.namespace}/${pool.name}" for the ${wanted} of that name: ${state}`,
    );
  }
  const owner = ownerReferences.find(({ kind, name }) => kind === "MachineDeployment" && name === pool.name);
  if (owner && !deletionTimestamp) return { ...pool, uid: owner.uid };
  return await backendOf(kube, pool).subject(pool);
}

async function createRollout(kube: Cluster, pool: PoolRef): Promise<RolloutObject | undefined> {
  const subject = await backendOf(kube, pool).subject(pool);
  if (!subject) return undefined;
  const { object = machineDeployment, name: ofName, uid } = subject;
  const { namespace, name } = pool;
  const apiVersion = `${rollouts.group}/${rollouts.version}`;
  try {
    const metadata = { namespace, name, ownerReferences: [{ ...object, name: ofName, uid }] };
    return await createObject(kube, rollouts, { apiVersion, kind: "Rollout", metadata, spec: {} });
  } catch (error) {
    if (statusOf(error) !== 409) throw error;
    return await readObject(kube, rollouts, { namespace, name });
  }
}

// Returns the status as a merge patch: a list replaces the previous list, null removes a field, and a field that the
// report leaves out stays.
function statusFrom(report: RolloutReport, existing: RolloutObject): object {
  const { history, conditions, trusted, ...plain } = report;
  const caBundles = trusted && withBundle(caBundlesIn(existing.status), trusted, Date.now());
  const { workflowId, runId } = executionOf();
  return clipped({
    ...plain,
    ...bounded(report),
    ...{ workflowId, runId, wave: report.wave || null },
    conditions: conditions.map((condition) => timed(condition, existing)),
    ...(history && isNews(history, existing) ? { history: appended(history, existing) } : {}),
    ...(caBundles ? { caBundles } : {}),
    ...(isPinOver(pinOf(existing), report, memoryOf(existing)) ? { pin: null } : {}),
  });
}

function executionOf(): { workflowId: string; runId: string } {
  return activityInfo().workflowExecution ?? { workflowId: "", runId: "" };
}

function bounded({ quarantine, skipped, usual, underway, waves = [] }: RolloutReport): object {
  const current = waves.findIndex(({ state }) => state !== "Done");
  const first = Math.max(0, Math.min(current === -1 ? waves.length : current - wavesBehind, waves.length - wavesShown));
  return {
    waves: waves.slice(first, first + wavesShown),
    quarantine: quarantine.slice(-quarantineKept),
    ...(skipped ? { skipped: skipped.slice(0, skippedKept) } : {}),
    ...(usual ? { usual: { join: usual.join.slice(-usualKept), leave: usual.leave.slice(-usualKept) } } : {}),
    underway: underway.slice(0, underwayShown).map(({ blockers, ...step }) => ({
      ...step,
      ...(blockers ? { blockers: blockers.slice(0, blockersShown) } : {}),
    })),
  };
}

function clipped(status: object): object {
  const clip = (key: string, value: unknown): unknown =>
    typeof value === "string" ? value.slice(0, key === "message" ? longestMessage : longestWord) : value;
  return JSON.parse(JSON.stringify(status, clip)) as object;
}

// A condition keeps the time of its last change of status, by the Kubernetes API conventions.
function timed(condition: Condition, existing: RolloutObject): object {
  const before = existing.status?.conditions?.find(({ type }) => type === condition.type);
  const unchanged = before?.status === condition.status && before.lastTransitionTime;
  return { ...condition, lastTransitionTime: unchanged || new Date().toISOString() };
}

// A pin ends when the abandoned profile may be used again.

/**
 * Returns whether the pin to the last good profile ends: another config is the last good one now, or a user took the
 * abandoned change out of quarantine.
 */
function isPinOver(pin: Pin | undefined, report: RolloutReport, before: Memory): boolean {
  if (!pin) return false;
  if (report.lastGood && inputsIn(report.lastGood.specHash) !== pin.good) return true;
  const isHeld = (specHash: string): boolean => inputsIn(specHash) === pin.bad;
  return takenBack(before, report).some(isHeld) && !report.quarantine.some(({ specHash }) => isHeld(specHash));
}

/** Returns the changes (`specHash`) that a user took out of quarantine. */
function takenBack(before: Memory, { quarantine }: RolloutReport): string[] {
  // A full list may lack a change although it is quarantined, because a newer change may have displaced it.
  if (quarantine.length >= quarantineKept) return [];
  const held = new Set(quarantine.map(({ specHash }) => specHash));
  return before.quarantine.map(({ specHash }) => specHash).filter((specHash) => !held.has(specHash));
}

// The last rollouts of a pool are kept on its Rollout, and an Event reports each one that has converged.

/** Maximum number of entries on a Rollout; older ones are in Temporal until its retention ends. */
const historyKept = 10;

/** Returns whether an entry is added to the history: not if its run only renewed credentials or changed nothing. */
function isNews(entry: HistoryEntry, existing: RolloutObject): boolean {
  if (entry.machines > 0 || entry.failed > 0) return true;
  const last = existing.status?.history?.at(-1);
  if (last?.["revision"] !== entry.revision || last["configDigest"] !== entry.configDigest) return true;
  return entry.outcome !== "Converged" && last["outcome"] !== entry.outcome;
}

/** Returns the history with the entry; a repeated entry counts once, because an activity may run again. */
function appended(entry: HistoryEntry, existing: RolloutObject): object[] {
  const before = (existing.status?.history ?? []).filter(({ startedAt }) => startedAt !== entry.startedAt);
  return [...before, entry].slice(-historyKept);
}

/** Returns the Event of a newly converged rollout; the workflow itself sends the Event of a rollback. */
function convergence({ history, message }: RolloutReport, existing: RolloutObject): PoolEvent[] {
  if (history?.outcome !== "Converged" || !isNews(history, existing)) return [];
  return [{ type: "Normal", reason: "RolloutConverged", message }];
}
