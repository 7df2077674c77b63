/** Whether a person let the plan begin. */
import type { Seen } from "./rollout.ts";

/** The plan of the desired spec was approved; where each wave asks for it, for the wave that is on. */
export function isApproved({ people, target, waves }: Seen<"people" | "target" | "waves">): boolean {
  if (target.rules?.approval === "BeforeEachWave") return waves.current.approved;
  return people.approvedPlan !== "" && people.approvedPlan === target.change;
}

/** The very same plan was approved before, and that still holds. */
export function wasApproved(rollout: Seen<"people" | "target" | "waves">, hash: string | undefined): boolean {
  return hash !== undefined && hash === rollout.people.approvedHash && isApproved(rollout);
}
