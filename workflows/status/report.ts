/** Reports the status of the run: the page of the web UI, the search attributes, the Rollout object and Events. */
import { setCurrentDetails, upsertSearchAttributes, workflowInfo } from "@temporalio/workflow";
import type { HistoryEntry, PoolEvent, PublishActivities, Rollback, RolloutReport } from "../contracts/mod.ts";
import type { Turn } from "../policy/turn.ts";
import { type Either, publish } from "../proxies.ts";
import { joinedIn } from "../state/records.ts";
import type { Seen, Standing, Telling } from "../state/rollout.ts";
import { troubleOf } from "../state/trouble.ts";
import { describe, etaNow, standingOf, underway, wavesNow } from "./describe.ts";
import { conditions, details } from "./page.ts";
import { columnTextOf, searchAttributes } from "./search_attributes.ts";
import { isApproved } from "../state/approval.ts";
import { iso } from "../state/loop.ts";

/** The parts of a report that are not in the state. */
export interface News {
  events?: PoolEvent[];
  history?: HistoryEntry;
  convergedTemplateHash?: string;
}

/** The activity that writes a report: a normal one beside other activities, or a local one while no task is running. */
export type Teller = Pick<Either<PublishActivities>, "ensureRolloutReported">;

/**
 * Changes the status and shows it in the web UI, but does not write the Rollout object, because Kubernetes may be
 * unavailable.
 */
export function stand(rollout: Telling, standing: Omit<Standing, "since">): void {
  const { view } = rollout;
  const before = view.standing;
  const same = before.phase === standing.phase && before.reason === standing.reason;
  view.standing = { ...standing, since: same ? before.since : Date.now() };
  refresh(rollout);
  if (before.phase !== standing.phase) index(rollout);
}

/** Shows the current state in the web UI. */
export function refresh(rollout: Seen): void {
  setCurrentDetails(details(rollout.settings.pool, describe(rollout)));
}

/**
 * Shows the status after a plan in the web UI, and writes the Rollout object if something other than the estimated end
 * has changed.
 */
export async function show(rollout: Telling, turn: Turn, by: Teller = publish): Promise<void> {
  const { view } = rollout;
  const standing = standingOf(rollout, turn);
  stand(rollout, standing);
  const { eta: _, ...lasting } = reportOf(rollout);
  if (view.news.length === 0 && view.shown === JSON.stringify(lasting)) return;
  await report(rollout, standing, { ...convergedNews(rollout), by });
}

// After a rollback, reports the last good template as one whose machines boot without admission: the run of the
// rollback may have been terminated while it held every new machine.
function convergedNews({ memory: { lastRollback, lastGood, rollback } }: Seen<"memory">): News {
  return lastRollback && lastGood && !rollback ? { convergedTemplateHash: lastGood.templateHash } : {};
}

/** Changes the status and writes it to the Rollout object, with the pending Events. */
export async function report(
  rollout: Telling,
  standing: Omit<Standing, "since">,
  { by = publish, ...news }: News & { by?: Teller } = {},
): Promise<void> {
  const { settings: { pool }, memory, view } = rollout;
  stand(rollout, standing);
  // A report writes back the state that earlier runs stored, so that state must have been read.
  if (!memory.recalled) return;
  const told = reportOf(rollout);
  const { eta: _, ...lasting } = told;
  const before = { news: view.news, shown: view.shown };
  view.shown = JSON.stringify(lasting);
  view.news = [];
  try {
    const summary = `Report: ${standing.message.slice(0, 150)}`;
    await by.ensureRolloutReported.executeWithOptions({ summary }, [
      { pool, report: { ...told, ...newsPart(news) }, events: [...before.news, ...(news.events ?? [])] },
    ]);
  } catch (error) {
    // While the API is unavailable, the report is retried later; a refused report would be refused again.
    if (troubleOf(error).kind === "unreachable") {
      view.shown = before.shown;
      view.news = [...before.news, ...view.news];
    }
    throw error;
  }
}

/**
 * Sets the search attributes of a run that begins, unless the client that started it has set them: each change costs a
 * write in Temporal.
 */
export function indexAtStart(rollout: Indexed): void {
  const { typedSearchAttributes: given } = workflowInfo();
  const isGiven = attributesOf(rollout).every(({ key, value }) => given.get(key) === value);
  if (!isGiven) index(rollout);
}

function index(rollout: Indexed): void {
  upsertSearchAttributes(attributesOf(rollout));
}

type Indexed = Seen<"settings" | "view" | "target">;

/** Returns the search attributes of a run, as its state requires them. */
export function attributesOf({ settings: { pool }, view, target: { desired } }: Indexed): Attribute[] {
  const { cluster, namespace, name } = pool;
  return [
    ...(cluster === undefined ? [] : [{ key: searchAttributes.cluster, value: cluster }]),
    { key: searchAttributes.namespace, value: namespace },
    { key: searchAttributes.machineDeployment, value: name },
    { key: searchAttributes.phase, value: view.standing.phase },
    ...(desired ? [{ key: searchAttributes.image, value: columnTextOf(desired.image) }] : []),
  ];
}

interface Attribute {
  key: typeof searchAttributes[keyof typeof searchAttributes];
  value: string;
}

function newsPart({ history, convergedTemplateHash }: News): Partial<RolloutReport> {
  return { ...(history ? { history } : {}), ...(convergedTemplateHash ? { convergedTemplateHash } : {}) };
}

// Maps a run to its Rollout object.

/** Maximum number of machines in progress that the Rollout object lists. */
const named = 20;

/** Returns the report for the Rollout object; `report` adds the history entry when a rollout ends. */
function reportOf(rollout: Seen): RolloutReport {
  const { target, people, machines, memory, view } = rollout;
  const { phase, reason, message } = view.standing;
  const eta = etaNow(rollout);
  return {
    phase,
    reason,
    message,
    failedMachines: machines.failures,
    blockedReason: blockedNow(rollout)?.reason ?? null,
    ...desiredPart(rollout),
    ...countsPart(rollout),
    ...(machines.snapshot?.etcd ? { etcd: machines.snapshot.etcd } : {}),
    ...publicationPart(rollout),
    ...(target.rules ? { policy: target.rules.source } : {}),
    paused: people.paused !== null,
    pausedBy: people.paused,
    quarantine: memory.quarantine,
    ...(memory.lastGood ? { lastGood: memory.lastGood } : {}),
    usual: memory.usual,
    left: memory.lastRollback,
    waves: wavesNow(rollout),
    eta: eta === null ? null : iso(eta),
    underway: underway(rollout).slice(0, named),
    plan: people.plan ? { hash: people.plan.hash, approved: isApproved(rollout) } : null,
    skipped: ["Converged", "RolledBack"].includes(phase) ? [] : people.skipped,
    approval: ["Converged", "RolledBack", "Aborted"].includes(phase) ? null : approvalNow(rollout),
    conditions: conditionsNow(rollout),
  };
}

/**
 * Returns the present approval, so that the next run finds it on the Rollout if this run is terminated; null if nothing
 * is approved.
 */
function approvalNow(rollout: Seen<"people" | "target" | "waves">): RolloutReport["approval"] {
  if (!isApproved(rollout)) return null;
  const { people: { approvedHash, approvedPlan, approvedTerms }, waves } = rollout;
  return { plan: approvedHash, templateHash: approvedPlan, wave: waves.current.index, terms: approvedTerms };
}

/** Returns the obstacle for the condition Blocked, or null. A soak is not an obstacle but part of the plan. */
function blockedNow(
  { view: { standing, blocked }, tasks }: Seen<"view" | "tasks">,
): { reason: string; message: string } | null {
  const { phase, reason, message } = standing;
  const isStuck = Object.values(tasks.running).some((task) => task.blockers.length > 0);
  if (phase === "Halted" || (isStuck && reason === "PodsRemaining")) return { reason, message };
  return blocked && blocked.reason !== "Soaking" ? blocked : null;
}

function conditionsNow(rollout: Seen): RolloutReport["conditions"] {
  const { target: { desired }, people, memory, view } = rollout;
  const { phase, reason, message } = view.standing;
  const left = memory.rollback ?? lastRollbackNow(rollout);
  // If a person has sent retry since the rollback, the change is no longer in quarantine.
  const bad = memory.quarantine.find(({ specHash }) => [desired?.specHash, left?.bad.specHash].includes(specHash));
  const blocked = blockedNow(rollout);
  const isRollingBack = memory.rollback !== null;
  const quarantined = bad ?? null;
  return conditions({ phase, reason, message, paused: people.paused, blocked, left, isRollingBack, quarantined });
}

/**
 * Returns the last rollback while the desired spec is the failed one or the last good one; null once another spec is
 * desired.
 */
function lastRollbackNow({ memory, target: { desired } }: Seen<"memory" | "target">): Rollback | null {
  const { lastRollback, lastGood } = memory;
  const isStill = [lastGood?.specHash, lastRollback?.bad.specHash].includes(desired?.specHash);
  return isStill ? lastRollback : null;
}

function desiredPart({ target: { desired } }: Seen<"target">): Partial<RolloutReport> {
  if (!desired) return {};
  const { observed, generation, revision, templateHash, image, kubelet, replicas } = desired;
  const base = { observed, observedGeneration: generation, replicas, image, kubelet };
  return desired.settled ? { ...base, revision, targetTemplateHash: templateHash } : base;
}

function countsPart(rollout: Seen<"target" | "machines" | "waves" | "memory" | "tasks">): Partial<RolloutReport> {
  const { machines: { snapshot }, target: { desired } } = rollout;
  if (!snapshot || !desired) return {};
  const { updated, ready, updatedReady, held } = snapshot.counts;
  const waves = wavesNow(rollout);
  const current = Math.min(rollout.waves.current.index + 1, waves.length);
  return {
    // New machines that are held do not run anything yet, so they do not count.
    updatedReplicas: Math.max(updatedReady, updated - held),
    readyReplicas: ready,
    updated: `${updatedReady}/${desired.replicas}`,
    wave: waves.length > 0 ? `${current}/${waves.length}` : "",
  };
}

function publicationPart(
  { target: { publication, credentials, rendering, desired } }: Seen<"target">,
): Partial<RolloutReport> {
  const life = credentials && credentials.expiresAt !== "" ? { credentials } : {};
  if (!publication || !rendering || !desired) return life;
  return {
    ...life,
    ...(publication.trusted ? { trusted: publication.trusted } : {}),
    configDigest: rendering.configDigest,
    profile: { ...desired.profile, version: rendering.profileVersion },
  };
}

// One entry of a pool's history.

/** Returns the entry for a rollout that ends now. */
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
    machines: joinedIn(records),
    failed: machines.failures,
    actor: rollback?.by ?? desired?.actor ?? "unknown",
    reason: rollback?.reason ?? "",
    seconds: Math.round((Date.now() - startedAt) / 1000),
  };
}
