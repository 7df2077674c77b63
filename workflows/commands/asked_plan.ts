/** The plan that a person is asked about. */
import type { Desired, Rules, WaveState } from "../contracts/mod.ts";
import { waveTargets } from "../policy/waves.ts";
import { read } from "../proxies.ts";
import type { Part, Seen } from "../state/rollout.ts";
import { isApproved } from "./approval.ts";

/** Reads the plan, only where somebody has to approve it: it reads the whole pool. */
export async function planWhereAsked(
  { settings: { pool }, target, memory, waves, people }:
    & Seen<"settings" | "target" | "memory" | "waves">
    & Part<"people">,
  desired: Desired,
  { approval }: Rules,
): Promise<void> {
  const isAsked = approval !== "Never" && waves.rolled && !memory.rollback && !isLastDone({ target, waves }, desired);
  // Until it is approved it is read at every look: machines come and go, and policies are edited.
  if (!isAsked || (isApproved({ people, target, waves }) && people.plan)) return;
  const { templateHash } = desired;
  people.plan = await read.planRollout.executeWithOptions({ summary: "Plan the rollout" }, [{ pool, templateHash }]);
}

function isLastDone({ target: { rules }, waves }: Seen<"target" | "waves">, { replicas }: Desired): boolean {
  return rules !== undefined && waves.current.index >= waveTargets(rules, replicas).length;
}

/** Drops the plan of the wave that is done, as what is left needs a word of its own. */
export function dropPlan(
  { target, waves, people }: Seen<"target" | "waves"> & Part<"people">,
  before: WaveState,
): "Dropped" | "Kept" {
  const isDone = before.approved && !waves.current.approved;
  if (target.rules?.approval !== "BeforeEachWave" || !isDone) return "Kept";
  people.plan = undefined;
  return "Dropped";
}
