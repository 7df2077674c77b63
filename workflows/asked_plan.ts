/** The plan that a person is asked about. */
import { patched } from "@temporalio/workflow";
import { isApproved } from "./approval.ts";
import type { Desired, Rules } from "./contracts.ts";
import { read } from "./proxies.ts";
import type { Rollout } from "./rollout.ts";

/** Runs that began before this follow their history with the one plan that they read. */
const eachWavePlanned = "each-wave-planned";

/** Reads the plan, only where somebody has to approve it: it reads the whole pool. */
export async function planWhereAsked(rollout: Rollout, desired: Desired, { approval }: Rules): Promise<void> {
  const isAsked = approval !== "Never" && rollout.rolled && !rollout.rollBack;
  if (!isAsked || hasPlan(rollout)) return;
  rollout.plan = await read.planRollout.executeWithOptions({ summary: "Plan the rollout" }, [
    { pool: rollout.pool, templateHash: desired.templateHash },
  ]);
}

/** Forgets the plan of the wave that is done, as what is left needs a word of its own; true when it did. */
export function leavePlan(rollout: Rollout, before: Rollout["wave"]): boolean {
  if (rollout.rules?.approval !== "BeforeEachWave" || !before.approved || rollout.wave.approved) return false;
  if (!patched(eachWavePlanned)) return false;
  rollout.plan = undefined;
  return true;
}

// Until it is approved it is read at every look: machines come and go, and policies are edited.
function hasPlan(rollout: Rollout): boolean {
  if (!rollout.plan || isApproved(rollout)) return rollout.plan !== undefined;
  const isLaterWave = rollout.approvedPlan === rollout.change;
  return isLaterWave && !patched(eachWavePlanned);
}
