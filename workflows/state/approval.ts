/** Whether a person has approved the plan. */
import type { Seen } from "./rollout.ts";

/** Returns whether the plan of the desired spec is approved, or its current wave if each wave needs an approval. */
export function isApproved({ people, target, waves }: Seen<"people" | "target" | "waves">): boolean {
  if (target.rules?.approval === "BeforeEachWave") return waves.current.approved;
  return people.approvedPlan !== "" && people.approvedPlan === target.change;
}

/** Returns whether the plan with this hash was approved before, and the approval still holds. */
export function wasApproved(rollout: Seen<"people" | "target" | "waves">, hash: string | undefined): boolean {
  return hash !== undefined && hash === rollout.people.approvedHash && isApproved(rollout);
}
