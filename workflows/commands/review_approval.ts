/** An approval holds for the plan that was looked at. */
import type { Desired, PoolSnapshot, Rules, WaveState } from "../contracts/mod.ts";
import { isCovered, planTerms } from "../policy/forecast.ts";
import { supplierOf } from "../policy/supplier.ts";
import { forgetApproval } from "../state/people.ts";
import { type Part, type Seen, warn } from "../state/rollout.ts";
import { busyWith } from "../state/tasks.ts";
import { isApproved } from "../state/approval.ts";
import { waveTargets } from "../policy/waves.ts";
import { read } from "../proxies.ts";

type Approval = Seen<"target"> & Part<"people" | "waves" | "view">;

/** Drops the approval when policy or pool are no longer those that it was given for, and machines are left to replace. */
export function reviewApproval(
  rollout: Approval & Seen<"settings" | "machines" | "tasks">,
  desired: Desired,
  rules: Rules,
): "Kept" | "Dropped" {
  const { settings, people, machines: { snapshot } } = rollout;
  if (!isApproved(rollout)) {
    // That of a wave which is done is not one of the whole plan, should the policy ask for that from now on.
    forgetApproval(people);
    return "Kept";
  }
  const isLeft = snapshot === undefined || isOldLeft(snapshot, rollout, desired);
  // Under a conflict nobody can say which rules hold, and nothing begins.
  if (rules.conflict !== null || desired.replicas === 0 || !isLeft) return "Kept";
  const now = planTerms(supplierOf(settings.pool.kind), desired, rules);
  people.approvedTerms ??= now;
  const { approvedTerms } = people;
  if (isCovered(approvedTerms, now)) return "Kept";
  people.plan = null;
  return drop(
    rollout,
    approvedTerms.hash === now.hash
      ? `the approval was for ${approvedTerms.replicas} machines, but ${now.replicas} are desired now`
      : "the policy or the pool has changed since the plan was made",
  );
}

/** Drops an approval that came while the plan was read anew: of `shown`, though another had taken its place. */
export function dropOvertaken(rollout: Approval, shown: string | undefined): "Kept" | "Dropped" {
  const { people } = rollout;
  const hash = people.plan?.hash;
  if (!isApproved(rollout) || people.approvedHash !== shown || hash === shown) return "Kept";
  return drop(rollout, `plan ${hash} had replaced it`);
}

function drop({ people, waves, view }: Approval, why: string): "Dropped" {
  const which = people.approvedHash === "" ? `Wave ${waves.current.index + 1}` : `Plan ${people.approvedHash}`;
  warn(view, "ApprovalDropped", `${which} is no longer approved: ${why}; review the plan and approve it again`);
  forgetApproval(people);
  waves.current = { ...waves.current, approved: false };
  return "Dropped";
}

function isOldLeft({ counts, leaving }: PoolSnapshot, { tasks }: Seen<"tasks">, { templateHash }: Desired): boolean {
  const begun = busyWith(tasks, "leave");
  return counts.old > 0 || leaving.some((each) => each.templateHash !== templateHash && !begun.includes(each.id));
}

// The plan that a person is asked about.

/** Reads the plan, only where somebody has to approve it: it reads the whole pool. Drops an approval that holds no more. */
export async function planWhereAsked(
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
  // Until it is approved it is read at every look: machines come and go, and policies are edited.
  if (isLastDone(rollout, rules, desired) || (wasApproved && people.plan && people.isPlanRead)) return;
  const shown = people.plan?.hash;
  const { templateHash } = desired;
  const summary = "Plan the rollout";
  const { hash, terms } = await read.planRollout.executeWithOptions({ summary }, [{ pool, templateHash }]);
  people.isPlanRead = true;
  // What was approved in a run before stays what people see.
  if (wasApproved && people.plan) return;
  people.plan = { hash, ...(terms ? { terms } : {}) };
  if (wasApproved || dropOvertaken(rollout, shown) === "Dropped") return;
  // What was looked at may be newer than what this round goes by.
  reviewApproval(rollout, desired, rules);
}

// By the waves that the index counts in: the policy may list others by now.
function isLastDone({ waves: { current, countedBy } }: Seen<"waves">, rules: Rules, { replicas }: Desired): boolean {
  const counted = countedBy ?? { ...rules, replicas };
  return current.index >= waveTargets(counted, counted.replicas).length;
}

/** Drops the plan when the waves have moved on from the one that it was about, as what is left needs a word of its own. */
export function dropPlan(
  { target, waves, people }: Seen<"target" | "waves"> & Part<"people">,
  before: WaveState,
): "Dropped" | "Kept" {
  const isMoved = before.index !== waves.current.index || (before.approved && !waves.current.approved);
  if (target.rules?.approval === "Never" || !isMoved || isApproved({ target, waves, people })) return "Kept";
  people.plan = null;
  return "Dropped";
}
