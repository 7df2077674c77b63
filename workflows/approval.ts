/** Whether a person let the plan begin. */
import type { Rollout } from "./rollout.ts";

/** The plan of the desired spec was approved. */
export function isApproved({ approvedPlan, change }: Pick<Rollout, "approvedPlan" | "change">): boolean {
  return approvedPlan !== "" && approvedPlan === change;
}
