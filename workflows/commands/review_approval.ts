/** An approval holds for the plan that was looked at. */
import type { Desired, PoolSnapshot, Rules } from "../contracts/mod.ts";
import { isCovered, planTerms } from "../policy/plan_terms.ts";
import { supplierOf } from "../policy/supplier/supplier_of.ts";
import { forgetApproval } from "../state/people.ts";
import type { Part, Seen } from "../state/rollout.ts";
import { busyWith } from "../state/tasks.ts";
import { warn } from "../state/view.ts";
import { isApproved } from "./approval.ts";

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
      ? `it was for ${approvedTerms.replicas} machines, and ${now.replicas} are wanted now`
      : "policy or pool were others when it was looked at",
  );
}

/** Drops an approval that came while the plan was read anew: of `shown`, though another had taken its place. */
export function dropOvertaken(rollout: Approval, shown: string | undefined): "Kept" | "Dropped" {
  const { people } = rollout;
  const hash = people.plan?.hash;
  if (!isApproved(rollout) || people.approvedHash !== shown || hash === shown) return "Kept";
  return drop(rollout, `plan ${hash} had taken its place`);
}

function drop({ people, waves, view }: Approval, why: string): "Dropped" {
  const which = people.approvedHash === "" ? `Wave ${waves.current.index + 1}` : `Plan ${people.approvedHash}`;
  warn(view, "ApprovalDropped", `${which} is no longer approved: ${why}; look at the plan and approve it again`);
  forgetApproval(people);
  waves.current = { ...waves.current, approved: false };
  return "Dropped";
}

function isOldLeft({ counts, leaving }: PoolSnapshot, { tasks }: Seen<"tasks">, { templateHash }: Desired): boolean {
  const begun = busyWith(tasks, "leave");
  return counts.old > 0 || leaving.some((each) => each.templateHash !== templateHash && !begun.includes(each.id));
}
