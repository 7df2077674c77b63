/** A run as people see it: the answer to the query `progress`. */
import { isApproved } from "../commands/approval.ts";
import type { PoolSnapshot, Progress, Rollback, Underway, WaveView } from "../contracts/mod.ts";
import { etaOf } from "../policy/eta.ts";
import { supplierOf } from "../policy/supplier/supplier_of.ts";
import { iso } from "../state/rfc3339.ts";
import type { Seen } from "../state/rollout.ts";
import type { Task } from "../state/tasks.ts";
import { waveViews } from "./page/wave_views.ts";

/** Answers the query `progress`. */
export function describe(rollout: Seen): Progress {
  const { target, people, waves, machines, tasks, memory, records, view } = rollout;
  const { phase, reason, message, since, until } = view.standing;
  const eta = etaNow(rollout);
  return {
    phase,
    reason,
    message,
    since: iso(since),
    ...(until === undefined ? {} : { until: iso(until) }),
    paused: people.paused !== null,
    ...(people.paused ? { pausedBy: people.paused } : {}),
    policy: target.rules?.source ?? "",
    ...targetPart(rollout),
    waves: wavesNow(rollout),
    wave: waves.current.index + 1,
    ...(eta === null ? {} : { eta: iso(eta) }),
    ...(people.plan ? { plan: { hash: people.plan.hash, approved: isApproved(rollout) } } : {}),
    ...(memory.rollback ? { rollBack: backPart(memory.rollback) } : {}),
    quarantine: memory.quarantine,
    failedMachines: machines.failures,
    ...(machines.snapshot?.etcd ? { etcd: machines.snapshot.etcd } : {}),
    skipped: people.skipped,
    setAside: machines.setAside,
    underway: underway(tasks),
    joins: records.joins,
    replacements: records.replacements,
  };
}

/** Everything under way, the oldest first. */
export function underway({ running }: Seen["tasks"]): Underway[] {
  return Object.values(running).sort((a, b) => a.since - b.since).map(shown);
}

/** The waves of this rollout; none when it is no rollout. */
export function wavesNow(
  { target: { rules, desired }, waves, memory, tasks }: Seen<"target" | "waves" | "memory" | "tasks">,
): WaveView[] {
  if (!rules || !desired || !waves.rolled || memory.rollback) return [];
  const asking = Object.values(tasks.running).some(({ kind }) => kind === "gates");
  return waveViews({ rules, replicas: desired.replicas, wave: waves.current, asking });
}

/** When it should be over (epoch ms), if anything is known. */
export function etaNow(
  { settings, target: { rules, desired }, machines: { snapshot }, memory: { usual }, waves, view: { blocked } }: Seen<
    "settings" | "target" | "machines" | "memory" | "waves" | "view"
  >,
): number | null {
  if (!rules || !desired || !snapshot || !waves.rolled) return null;
  const room = supplierOf(settings.pool.kind).roomOf(desired);
  const { counts } = snapshot;
  return etaOf({ now: Date.now(), rules, room, desired, counts, usual, wave: waves.current, blocked });
}

function targetPart(
  { target: { desired, rendering }, machines: { snapshot } }: Seen<"target" | "machines">,
): Pick<Progress, "target" | "counts"> {
  if (!desired) return {};
  const { generation, revision, image, kubelet, replicas } = desired;
  const target = rendering && { generation, revision, image, kubelet, configDigest: rendering.configDigest };
  return {
    ...(target ? { target } : {}),
    ...(snapshot ? { counts: { desired: replicas, ...publicCounts(snapshot.counts) } } : {}),
  };
}

function publicCounts(counts: PoolSnapshot["counts"]): Omit<NonNullable<Progress["counts"]>, "desired"> {
  const { machines, updated, updatedReady, ready, old, leaving, ill } = counts;
  return { machines, updated, updatedReady, ready, old, leaving, unhealthy: ill };
}

function backPart({ kind, by, reason, bad }: Rollback): NonNullable<Progress["rollBack"]> {
  return { kind, by, reason, revision: bad.revision };
}

function shown({ subject, node, step, since, until, attempt, blockers }: Task): Underway {
  return {
    machine: subject,
    ...(node ? { node } : {}),
    step,
    since: iso(since),
    until: iso(until),
    ...(attempt > 0 ? { attempt } : {}),
    ...(blockers.length > 0 ? { blockers } : {}),
  };
}
