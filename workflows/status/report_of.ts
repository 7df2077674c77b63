/** A run as its Rollout object says it. */
import { isApproved } from "../commands/approval.ts";
import type { Rollback, RolloutReport } from "../contracts/mod.ts";
import { iso } from "../state/rfc3339.ts";
import type { Seen } from "../state/rollout.ts";
import { etaNow, underway, wavesNow } from "./describe.ts";
import { conditions } from "./page/conditions.ts";

/** Members named on the Rollout object. */
const named = 20;

/** Everything but what ended, which a step says. */
export function reportOf(rollout: Seen): RolloutReport {
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
