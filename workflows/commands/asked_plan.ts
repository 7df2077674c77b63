/** The plan that a person is asked about. */
import { isApproved } from "./approval.ts";
import type { Desired, Rules } from "../contracts/mod.ts";
import { waveTargets } from "../policy/waves.ts";
import { read } from "../proxies.ts";
import type { Rollout } from "../state/rollout.ts";

/** Reads the plan, only where somebody has to approve it: it reads the whole pool. */
export async function planWhereAsked(rollout: Rollout, desired: Desired, { approval }: Rules): Promise<void> {
  const isAsked = approval !== "Never" && rollout.rolled && !rollout.rollBack && !isLastDone(rollout, desired);
  // Until it is approved it is read at every look: machines come and go, and policies are edited.
  if (!isAsked || (isApproved(rollout) && rollout.plan)) return;
  rollout.plan = await read.planRollout.executeWithOptions({ summary: "Plan the rollout" }, [
    { pool: rollout.pool, templateHash: desired.templateHash },
  ]);
}

function isLastDone({ rules, wave }: Rollout, { replicas }: Desired): boolean {
  return rules !== undefined && wave.index >= waveTargets(rules, replicas).length;
}

/** Forgets the plan of the wave that is done, as what is left needs a word of its own; true when it did. */
export function leavePlan(rollout: Rollout, before: Rollout["wave"]): boolean {
  if (rollout.rules?.approval !== "BeforeEachWave" || !before.approved || rollout.wave.approved) return false;
  rollout.plan = undefined;
  return true;
}
