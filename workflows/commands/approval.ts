/** Whether a person let the plan begin. */
import type { Rollout } from "../state/rollout.ts";

/** The plan of the desired spec was approved; where each wave asks for it, for the wave that is on. */
export function isApproved(
  { approvedPlan, change, rules, wave }: Pick<Rollout, "approvedPlan" | "change" | "rules" | "wave">,
): boolean {
  if (rules?.approval === "BeforeEachWave") return wave.approved;
  return approvedPlan !== "" && approvedPlan === change;
}

/** The very same plan was approved before, and that still holds. */
export function wasApproved(rollout: Rollout, hash: string | undefined): boolean {
  return hash !== undefined && hash === rollout.approvedHash && isApproved(rollout);
}
