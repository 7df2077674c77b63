/** Whether a person has approved the plan. */
import type { Seen } from "./rollout.ts";

/** Returns whether the plan of the desired spec is approved, or its current wave if each wave needs an approval. */
export function isApproved({ people, target, waves }: Seen<"people" | "target" | "waves">): boolean {
  if (target.rules?.approval === "BeforeEachWave") return waves.current.approved;
  // A run of an earlier version carried the spec in place of the template.
  return people.approvedPlan !== "" && [target.template, target.change].includes(people.approvedPlan);
}

/** Returns whether the plan with this hash was approved before, and the approval still holds. */
export function wasApproved(
  { people, ...plan }: Seen<"people" | "target" | "waves">,
  hash: string | undefined,
): boolean {
  return hash !== undefined && hash === people.approvedHash && isApproved({ people, ...plan });
}
