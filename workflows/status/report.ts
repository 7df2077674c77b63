/** Tells people where the run stands: the web UI's page, the search attributes, the Rollout object and Events. */
import { setCurrentDetails, upsertSearchAttributes, workflowInfo } from "@temporalio/workflow";
import type { HistoryEntry, PoolEvent, PublishActivities, Rollback, RolloutReport } from "../contracts/mod.ts";
import type { Turn } from "../policy/turn.ts";
import { type Either, publish } from "../proxies.ts";
import type { Seen, Standing, Telling } from "../state/rollout.ts";
import { troubleOf } from "../state/trouble.ts";
import { describe, etaNow, standingOf, underway, wavesNow } from "./describe.ts";
import { conditions, details } from "./page.ts";
import { searchAttributes } from "./search_attributes.ts";
import { isApproved } from "../state/approval.ts";
import { iso } from "../state/loop.ts";

/** What a report brings that the state does not say. */
export interface News {
  events?: PoolEvent[];
  history?: HistoryEntry;
  convergedTemplateHash?: string;
}

/** Who writes a report: a step beside others, or one of its own while nothing is under way. */
export type Teller = Pick<Either<PublishActivities>, "ensureRolloutReported">;

/** Changes the standing and shows it in the web UI only; for states in which Kubernetes may be out of reach. */
export function stand(rollout: Telling, standing: Omit<Standing, "since">): void {
  const { view } = rollout;
  const before = view.standing;
  const same = before.phase === standing.phase && before.reason === standing.reason;
  view.standing = { ...standing, since: same ? before.since : Date.now() };
  refresh(rollout);
  if (before.phase !== standing.phase) index(rollout);
}

/** Shows the state as it is now in the web UI. */
export function refresh(rollout: Seen): void {
  setCurrentDetails(details(rollout.settings.pool, describe(rollout)));
}

/** Shows where the run stands after a look; the Rollout object is written only when something is new. */
export async function show(rollout: Telling, turn: Turn, by: Teller = publish): Promise<void> {
  const { view } = rollout;
  const standing = standingOf(rollout, turn);
  stand(rollout, standing);
  const { eta: _, ...lasting } = reportOf(rollout);
  if (view.news.length === 0 && view.shown === JSON.stringify(lasting)) return;
  await report(rollout, standing, { ...convergedNews(rollout), by });
}

// The run that went back may have ended by force, with every newcomer held, also those of the good template.
function convergedNews({ memory: { lastRollback, lastGood, rollback } }: Seen<"memory">): News {
  return lastRollback && lastGood && !rollback ? { convergedTemplateHash: lastGood.templateHash } : {};
}

/** Changes the standing and writes it to the Rollout object, with Events when there is news. */
export async function report(
  rollout: Telling,
  standing: Omit<Standing, "since">,
  { by = publish, ...news }: News & { by?: Teller } = {},
): Promise<void> {
  const { settings: { pool }, memory, view } = rollout;
  stand(rollout, standing);
  // A report writes back what earlier runs left, which must have been read.
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
    // Out of reach, it is told later; what is refused would be refused again.
    if (troubleOf(error).kind === "unreachable") {
      view.shown = before.shown;
      view.news = [...before.news, ...view.news];
    }
    throw error;
  }
}

/** Indexes a run that begins, unless who started it has: each time costs a write of Temporal's. */
export function indexAtStart(rollout: Indexed): void {
  const { typedSearchAttributes: given } = workflowInfo();
  const isGiven = attributesOf(rollout).every(({ key, value }) => given.get(key) === value);
  if (!isGiven) index(rollout);
}

function index(rollout: Indexed): void {
  upsertSearchAttributes(attributesOf(rollout));
}

type Indexed = Seen<"settings" | "view" | "target">;

function attributesOf({ settings: { pool }, view, target: { desired } }: Indexed): Attribute[] {
  const { cluster, namespace, name } = pool;
  return [
    ...(cluster === undefined ? [] : [{ key: searchAttributes.cluster, value: cluster }]),
    { key: searchAttributes.namespace, value: namespace },
    { key: searchAttributes.machineDeployment, value: name },
    { key: searchAttributes.phase, value: view.standing.phase },
    ...(desired ? [{ key: searchAttributes.image, value: desired.image }] : []),
  ];
}

interface Attribute {
  key: typeof searchAttributes[keyof typeof searchAttributes];
  value: string;
}

function newsPart({ history, convergedTemplateHash }: News): Partial<RolloutReport> {
  return { ...(history ? { history } : {}), ...(convergedTemplateHash ? { convergedTemplateHash } : {}) };
}

// A run as its Rollout object says it.

/** Members named on the Rollout object. */
const named = 20;

/** Everything but what ended, which a step says. */
function reportOf(rollout: Seen): RolloutReport {
  const { target, people, machines, tasks, memory, view } = rollout;
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
    underway: underway(tasks).slice(0, named),
    plan: people.plan ? { hash: people.plan.hash, approved: isApproved(rollout) } : null,
    conditions: conditionsNow(rollout),
  };
}

/** What stands in the way, as far as a reader cares: a soak is no obstacle, it is the plan. */
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
  // A person may have said retry since then.
  const bad = memory.quarantine.find(({ specHash }) => [desired?.specHash, left?.bad.specHash].includes(specHash));
  const blocked = blockedNow(rollout);
  return conditions({ phase, reason, message, paused: people.paused, blocked, left, quarantined: bad ?? null });
}

/** What was left last, as long as nothing else is desired than that, or what the pool went back to. */
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
    // Held newcomers are paper.
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
    configDigest: rendering.configDigest,
    profile: { ...desired.profile, version: rendering.profileVersion },
  };
}

// One line of a pool's history.

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
