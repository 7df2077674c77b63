/** A run as people see it: the answer to the query `progress`. */
import type { PoolSnapshot, Progress, Underway, WaveView } from "../contracts/mod.ts";
import { etaOf } from "../policy/eta.ts";
import { supplierOf } from "../policy/supplier/supplier_of.ts";
import { waveViews } from "./page/wave_views.ts";
import { isApproved } from "../commands/approval.ts";
import { iso } from "../state/rollout.ts";
import type { Rollout, Task } from "../state/rollout.ts";

/** Answers the query `progress`. */
export function describe(rollout: Rollout): Progress {
  const { standing, memory, rollBack, plan, rules } = rollout;
  const eta = etaNow(rollout);
  return {
    ...{ phase: standing.phase, reason: standing.reason, message: standing.message, since: iso(standing.since) },
    ...(standing.until === undefined ? {} : { until: iso(standing.until) }),
    paused: memory.paused !== null,
    ...(memory.paused ? { pausedBy: memory.paused } : {}),
    policy: rules?.source ?? "",
    ...numbers(rollout),
    ...{ waves: wavesNow(rollout), wave: rollout.wave.index + 1 },
    ...(eta === null ? {} : { eta: iso(eta) }),
    ...(plan ? { plan: { hash: plan.hash, approved: isApproved(rollout) } } : {}),
    ...(rollBack ? { rollBack: { ...pickBack(rollBack), revision: rollBack.bad.revision } } : {}),
    ...{ quarantine: memory.quarantine, failedMachines: rollout.failedMachines },
    ...{ skipped: rollout.skipped, setAside: rollout.setAside, underway: underway(rollout) },
    ...{ joins: rollout.joins, replacements: rollout.replacements },
  };
}

/** Everything under way, the oldest first. */
export function underway({ tasks }: Rollout): Underway[] {
  return Object.values(tasks).sort((a, b) => a.since - b.since).map(shown);
}

/** The waves of this rollout; none when it is no rollout. */
export function wavesNow({ rules, desired, wave, rolled, rollBack, tasks }: Rollout): WaveView[] {
  if (!rules || !desired || !rolled || rollBack) return [];
  const asking = Object.values(tasks).some(({ kind }) => kind === "gates");
  return waveViews({ rules, replicas: desired.replicas, wave, asking });
}

/** When it should be over (epoch ms), if anything is known. */
export function etaNow(rollout: Rollout): number | null {
  const { rules, desired, snapshot, memory, wave, blocked } = rollout;
  if (!rules || !desired || !snapshot || !rollout.rolled) return null;
  const room = supplierOf().roomOf(desired);
  return etaOf({ now: Date.now(), rules, room, desired, counts: snapshot.counts, usual: memory.usual, wave, blocked });
}

function numbers({ desired, rendering, snapshot }: Rollout): Pick<Progress, "target" | "counts"> {
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
  return { machines, updated, updatedReady, ready, old, leaving, ill };
}

function pickBack(
  { kind, by, reason }: NonNullable<Rollout["rollBack"]>,
): Omit<NonNullable<Progress["rollBack"]>, "revision"> {
  return { kind, by, reason };
}

function shown({ subject, node, step, since, until, attempt, blockers }: Task): Underway {
  return {
    machine: subject,
    ...(node ? { node } : {}),
    ...{ step, since: iso(since), until: iso(until) },
    ...(attempt > 0 ? { attempt } : {}),
    ...(blockers.length > 0 ? { blockers } : {}),
  };
}
