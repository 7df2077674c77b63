/** Whether a person has approved the plan. */
import type { Seen } from "./rollout.ts";

/**
 * Returns whether the plan for the desired template is approved; with `approval: BeforeEachWave`, whether the current
 * wave is approved.
 */
export function isApproved({ people, target, waves }: Seen<"people" | "target" | "waves">): boolean {
  if (target.rules?.approval === "BeforeEachWave") return waves.current.approved;
  // A run of an earlier version recorded the `specHash` instead of the hash of the template.
  return people.approvedPlan !== "" && [target.template, target.change].includes(people.approvedPlan);
}

/** Returns whether the plan with this hash was approved before, and the approval is still valid. */
export function wasApproved(
  { people, ...plan }: Seen<"people" | "target" | "waves">,
  hash: string | undefined,
): boolean {
  return hash !== undefined && hash === people.approvedHash && isApproved({ people, ...plan });
}
