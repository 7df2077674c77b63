/** Tells people where the run stands: the web UI's page, the search attributes, the Rollout object and Events. */
import { setCurrentDetails, upsertSearchAttributes } from "@temporalio/workflow";
import type { HistoryEntry, PoolEvent, RolloutReport } from "./contracts.ts";
import { conditions } from "./policy/conditions.ts";
import { details } from "./policy/details.ts";
import { publish } from "./proxies.ts";
import { describe, iso } from "./rollout.ts";
import type { Rollout, Standing } from "./rollout.ts";
import { searchAttributes } from "./search_attributes.ts";

export interface News {
  events?: PoolEvent[];
  history?: HistoryEntry;
  convergedTemplateHash?: string;
}

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

/** Changes the standing and writes it to the Rollout object, with Events when there is news. */
export async function report(rollout: Rollout, standing: Omit<Standing, "since">, news: News = {}): Promise<void> {
  stand(rollout, standing);
  rollout.shownPaused = rollout.paused !== null;
  const report = { ...reportOf(rollout), ...pickNews(news) };
  await publish.ensureRolloutReported.executeWithOptions({ summary: `Report: ${standing.message}` }, [
    { pool: rollout.pool, report, events: news.events ?? [] },
  ]);
}

/** Indexes the run, also when it was started by hand without search attributes. */
export function index(rollout: Rollout): void {
  upsertSearchAttributes([
    { key: searchAttributes.namespace, value: rollout.pool.namespace },
    { key: searchAttributes.machineDeployment, value: rollout.pool.name },
    { key: searchAttributes.phase, value: rollout.standing.phase },
    ...(rollout.desired ? [{ key: searchAttributes.image, value: rollout.desired.image }] : []),
  ]);
}

function pickNews(news: News): Partial<RolloutReport> {
  const { history, convergedTemplateHash } = news;
  return { ...(history ? { history } : {}), ...(convergedTemplateHash ? { convergedTemplateHash } : {}) };
}

function reportOf(rollout: Rollout): RolloutReport {
  const { standing, underway } = rollout;
  return {
    phase: standing.phase,
    reason: standing.reason,
    message: standing.message,
    ...desiredPart(rollout),
    ...countsPart(rollout),
    ...publicationPart(rollout),
    failedMachines: rollout.failedMachines,
    blockedReason: standing.phase === "Halted" ? standing.reason : null,
    paused: rollout.paused !== null,
    replacement: underway ? shown(underway) : null,
    conditions: conditions(standing, rollout.paused),
  };
}

function desiredPart({ desired }: Rollout): Partial<RolloutReport> {
  if (!desired) return {};
  const { observed, generation, revision, templateHash, image, kubelet, replicas } = desired;
  const base = { observed, observedGeneration: generation, replicas, image, kubelet };
  return desired.settled ? { ...base, revision, targetTemplateHash: templateHash } : base;
}

function countsPart({ counts, desired }: Rollout): Partial<RolloutReport> {
  if (!counts || !desired) return {};
  return {
    updatedReplicas: counts.updated,
    readyReplicas: counts.ready,
    updated: `${counts.updatedReady}/${desired.replicas}`,
    wave: `${Math.min(counts.updated, desired.replicas)}/${desired.replicas}`,
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

function shown(underway: NonNullable<Rollout["underway"]>): NonNullable<RolloutReport["replacement"]> {
  const { machine, victim, step, since, until } = underway;
  return { machine, victim: victim ?? null, step, since: iso(since), until: iso(until) };
}
