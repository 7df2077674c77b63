/** The plan that a person is asked about. */
import type { Desired, Rules, WaveState } from "../contracts/mod.ts";
import { waveTargets } from "../policy/waves.ts";
import { read } from "../proxies.ts";
import type { Part, Seen } from "../state/rollout.ts";
import { isApproved } from "./approval.ts";
import { dropOvertaken, reviewApproval } from "./review_approval.ts";

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
