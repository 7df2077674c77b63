/** Tells people where the run stands: the web UI's page, the search attributes, the Rollout object and Events. */
import { setCurrentDetails, upsertSearchAttributes } from "@temporalio/workflow";
import type { HistoryEntry, PoolEvent, RollBack, RolloutReport } from "../contracts/mod.ts";
import { isApproved } from "../commands/approval.ts";
import { describe, etaNow, underway, wavesNow } from "./describe.ts";
import { conditions } from "./page/conditions.ts";
import { details } from "./page/details.ts";
import type { Turn } from "../policy/turn.ts";
import { publish } from "../proxies.ts";
import { iso } from "../state/rollout.ts";
import type { Rollout, Standing } from "../state/rollout.ts";
import { searchAttributes } from "./search_attributes.ts";
import { standingOf } from "./standing.ts";
import { troubleOf } from "../steps/trouble.ts";

export interface News {
  events?: PoolEvent[];
  history?: HistoryEntry;
  convergedTemplateHash?: string;
}

/** Members named on the Rollout object. */
const named = 20;

/** Changes the standing and shows it in the web UI only; for states in which Kubernetes may be out of reach. */
export function stand(rollout: Rollout, standing: Omit<Standing, "since">): void {
  const before = rollout.standing;
  const same = before.phase === standing.phase && before.reason === standing.reason;
  rollout.standing = { ...standing, since: same ? before.since : Date.now() };
  refresh(rollout);
  if (before.phase !== standing.phase) index(rollout);
}

/** Shows the state as it is now in the web UI. */
export function refresh(rollout: Rollout): void {
  setCurrentDetails(details(rollout.pool, describe(rollout)));
}

/** Shows where the run stands after a look; the Rollout object is written only when something is new. */
export async function show(rollout: Rollout, turn: Turn): Promise<void> {
  const standing = standingOf(rollout, turn);
  stand(rollout, standing);
  const { eta: _, ...lasting } = reportOf(rollout);
  if (rollout.news.length === 0 && rollout.shown === JSON.stringify(lasting)) return;
  await report(rollout, standing, heldNews(rollout));
}

// The run that went back may have ended by force, with every newcomer held, also those of the good template.
function heldNews({ memory, rollBack }: Rollout): News {
  const { left, lastGood } = memory;
  return left && lastGood && !rollBack ? { convergedTemplateHash: lastGood.templateHash } : {};
}

/** Changes the standing and writes it to the Rollout object, with Events when there is news. */
export async function report(rollout: Rollout, standing: Omit<Standing, "since">, news: News = {}): Promise<void> {
  stand(rollout, standing);
  // A report writes back what earlier runs left, which must have been read.
  if (!rollout.recalled) return;
  const told = reportOf(rollout);
  const { eta: _, ...lasting } = told;
  const [own, shown] = [rollout.news, rollout.shown];
  Object.assign(rollout, { shown: JSON.stringify(lasting), news: [] });
  try {
    await publish.ensureRolloutReported.executeWithOptions({ summary: `Report: ${standing.message.slice(0, 150)}` }, [
      { pool: rollout.pool, report: { ...told, ...pickNews(news) }, events: [...own, ...(news.events ?? [])] },
    ]);
  } catch (error) {
    // Out of reach, it is told later; what is refused would be refused again.
    if (troubleOf(error).kind === "unreachable") Object.assign(rollout, { shown, news: [...own, ...rollout.news] });
    throw error;
  }
}

/** Indexes the run, also when it was started by hand without search attributes. */
export function index(rollout: Rollout): void {
  const { cluster, namespace, name } = rollout.pool;
  upsertSearchAttributes([
    ...(cluster === undefined ? [] : [{ key: searchAttributes.cluster, value: cluster }]),
    { key: searchAttributes.namespace, value: namespace },
    { key: searchAttributes.machineDeployment, value: name },
    { key: searchAttributes.phase, value: rollout.standing.phase },
    ...(rollout.desired ? [{ key: searchAttributes.image, value: rollout.desired.image }] : []),
  ]);
}

function pickNews({ history, convergedTemplateHash }: News): Partial<RolloutReport> {
  return { ...(history ? { history } : {}), ...(convergedTemplateHash ? { convergedTemplateHash } : {}) };
}

function reportOf(rollout: Rollout): RolloutReport {
  const { standing, memory, rules, plan, failedMachines } = rollout;
  const { phase, reason, message } = standing;
  const eta = etaNow(rollout);
  return {
    ...{ phase, reason, message, failedMachines, blockedReason: blockedNow(rollout)?.reason ?? null },
    ...{ ...desiredPart(rollout), ...countsPart(rollout), ...publicationPart(rollout) },
    ...(rules ? { policy: rules.source } : {}),
    ...{ paused: memory.paused !== null, pausedBy: memory.paused, quarantine: memory.quarantine },
    ...(memory.lastGood ? { lastGood: memory.lastGood } : {}),
    ...{ usual: memory.usual, left: memory.left ?? null },
    ...{ waves: wavesNow(rollout), eta: eta === null ? null : iso(eta), underway: underway(rollout).slice(0, named) },
    plan: plan ? { hash: plan.hash, approved: isApproved(rollout) } : null,
    conditions: conditionsNow(rollout),
  };
}

/** What stands in the way, as far as a reader cares: a soak is no obstacle, it is the plan. */
function blockedNow({ standing, blocked, tasks }: Rollout): { reason: string; message: string } | null {
  const { phase, reason, message } = standing;
  const isStuck = Object.values(tasks).some((task) => task.blockers.length > 0);
  if (phase === "Halted" || (isStuck && reason === "PodsRemaining")) return { reason, message };
  return blocked && blocked.reason !== "Soaking" ? blocked : null;
}

function conditionsNow(rollout: Rollout): RolloutReport["conditions"] {
  const { standing, memory, desired, rollBack } = rollout;
  const left = rollBack ?? leftNow(rollout);
  // A person may have said retry since then.
  const held = memory.quarantine.find(({ specHash }) => [desired?.specHash, left?.bad.specHash].includes(specHash));
  return conditions({
    ...{ phase: standing.phase, reason: standing.reason, message: standing.message, paused: memory.paused },
    ...{ blocked: blockedNow(rollout), left, quarantined: held ?? null },
  });
}

/** What was left last, as long as nothing else is desired than that, or what the pool went back to. */
function leftNow({ memory, desired }: Rollout): RollBack | null {
  const { left = null, lastGood } = memory;
  return left && [lastGood?.specHash, left.bad.specHash].includes(desired?.specHash) ? left : null;
}

function desiredPart({ desired }: Rollout): Partial<RolloutReport> {
  if (!desired) return {};
  const { observed, generation, revision, templateHash, image, kubelet, replicas } = desired;
  const base = { observed, observedGeneration: generation, replicas, image, kubelet };
  return desired.settled ? { ...base, revision, targetTemplateHash: templateHash } : base;
}

function countsPart({ snapshot, desired, wave, rolled, ...rollout }: Rollout): Partial<RolloutReport> {
  if (!snapshot || !desired) return {};
  const { updated, ready, updatedReady, held } = snapshot.counts;
  const waves = wavesNow({ snapshot, desired, wave, rolled, ...rollout });
  return {
    // Held newcomers are paper.
    ...{
      updatedReplicas: Math.max(updatedReady, updated - held),
      readyReplicas: ready,
      updated: `${updatedReady}/${desired.replicas}`,
    },
    ...(waves.length > 0 ? { wave: `${Math.min(wave.index + 1, waves.length)}/${waves.length}` } : { wave: "" }),
  };
}

function publicationPart({ publication, rendering, desired }: Rollout): Partial<RolloutReport> {
  if (!publication || !rendering || !desired) return {};
  return {
    configDigest: rendering.configDigest,
    credentials: { expiresAt: publication.expiresAt, renewAt: publication.renewAt },
    profile: { ...desired.profile, version: rendering.profileVersion },
  };
}
