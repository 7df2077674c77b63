/** Drops an approval when policy or pool no longer match the approved plan. */
import type { Desired, PoolSnapshot, Rules, WaveState } from "../contracts/mod.ts";
import { counted } from "../policy/counted.ts";
import { isCovered, planTerms, termsInForm } from "../policy/forecast.ts";
import { supplierOf } from "../policy/supplier.ts";
import { forgetApproval } from "../state/people.ts";
import { freshWave } from "../state/waves.ts";
import { type Part, type Seen, warn } from "../state/rollout.ts";
import { busyWith } from "../state/tasks.ts";
import { isApproved } from "../state/approval.ts";
import { waveTargets } from "../policy/waves.ts";
import { read } from "../proxies.ts";

type Approval = Seen<"target"> & Part<"people" | "waves" | "view">;

/**
 * Drops the approval when the policy or the pool no longer matches the approved plan, and machines remain to be
 * replaced.
 */
export function reviewApproval(
  rollout: Approval & Seen<"settings" | "machines" | "tasks">,
  desired: Desired,
  rules: Rules,
): "Kept" | "Dropped" {
  const { settings, people, machines: { snapshot } } = rollout;
  if (!isApproved(rollout)) {
    // If the policy later requires an approval of the whole plan, the approval of an earlier wave must not count as
    // that approval.
    forgetApproval(people);
    return "Kept";
  }
  const isLeft = snapshot === undefined || isOldLeft(snapshot, rollout, desired);
  // During a policy conflict, the rules are unknown, and nothing begins.
  if (rules.conflict !== null || desired.replicas === 0 || !isLeft) return "Kept";
  const now = planTerms(supplierOf(settings.pool.kind), desired, rules);
  const approvedTerms = people.approvedTerms = termsInForm(people.approvedTerms, now);
  if (isCovered(approvedTerms, now)) return "Kept";
  people.plan = null;
  return drop(
    rollout,
    approvedTerms.hash === now.hash
      ? `the approval was for ${counted(approvedTerms.replicas, "machine")}, but ${now.replicas} ${
        now.replicas === 1 ? "is" : "are"
      } desired now`
      : "the policy or the pool has changed since the plan was made",
  );
}

/** Drops an approval of plan `shown`, if it arrived while the run read another plan that replaced `shown`. */
export function dropOvertaken(rollout: Approval, shown: string | undefined): "Kept" | "Dropped" {
  const { people } = rollout;
  const hash = people.plan?.hash;
  if (!isApproved(rollout) || people.approvedHash !== shown || hash === shown) return "Kept";
  return drop(rollout, `plan ${hash} had replaced it before the approval arrived`);
}

function drop({ people, waves, view }: Approval, why: string): "Dropped" {
  const which = people.approvedHash === "" ? `Wave ${waves.current.index + 1}` : `Plan ${people.approvedHash}`;
  warn(view, "ApprovalDropped", `${which} is no longer approved: ${why}; review the plan and approve it again`);
  forgetApproval(people);
  // Before its first plan, a run does not know which waves the index of an earlier run refers to.
  waves.current = waves.countedBy === null ? freshWave() : { ...waves.current, approved: false };
  return "Dropped";
}

function isOldLeft({ counts, leaving }: PoolSnapshot, { tasks }: Seen<"tasks">, { templateHash }: Desired): boolean {
  const begun = busyWith(tasks, "leave");
  return counts.old > 0 || leaving.some((each) => each.templateHash !== templateHash && !begun.includes(each.id));
}

// Reads the plan that a person has to approve.

/**
 * Reads the plan that a person has to approve, and drops an approval that no longer matches the plan. Reads no plan if
 * the rollout needs no further approval, to save work: planning reads the whole pool.
 */
export async function askApproval(
  rollout:
    & Seen<"settings" | "target" | "memory" | "machines" | "tasks">
    & Part<"people" | "waves" | "view">,
  desired: Desired,
  rules: Rules,
): Promise<void> {
  const { settings: { pool }, memory, waves, people } = rollout;
  if (rules.approval === "Never" || !waves.rolled || memory.rollback) return;
  reviewApproval(rollout, desired, rules);
  const wasApproved = isApproved(rollout);
  // A plan that is not approved yet is read in every reconcile, because machines and policies change meanwhile.
  if (isLastDone(rollout, rules, desired) || (wasApproved && people.plan && people.isPlanRead)) return;
  const shown = people.plan?.hash;
  const { templateHash } = desired;
  const summary = "Plan the rollout";
  const { hash, terms } = await read.planRollout.executeWithOptions({ summary }, [{ pool, templateHash }]);
  people.isPlanRead = true;
  // A plan that was approved in an earlier run stays the displayed plan.
  if (wasApproved && people.plan) return;
  people.plan = { hash, ...(terms ? { terms } : {}) };
  if (wasApproved || dropOvertaken(rollout, shown) === "Dropped") return;
  // The plan may have been read from a newer state than this reconcile has.
  reviewApproval(rollout, desired, rules);
}

// Returns whether all waves are done. Compares with the waves that the index refers to, because the policy may list
// other waves now.
function isLastDone({ waves: { current, countedBy } }: Seen<"waves">, rules: Rules, { replicas }: Desired): boolean {
  const counted = countedBy ?? { ...rules, replicas };
  return current.index >= waveTargets(counted, counted.replicas).length;
}

/** Drops the plan when another wave begins and needs an approval of its own; returns whether it was dropped. */
export function dropPlan(
  { target, waves, people }: Seen<"target" | "waves"> & Part<"people">,
  before: WaveState,
): "Dropped" | "Kept" {
  const isMoved = before.index !== waves.current.index || (before.approved && !waves.current.approved);
  if (target.rules?.approval === "Never" || !isMoved || isApproved({ target, waves, people })) return "Kept";
  people.plan = null;
  return "Dropped";
}
