/** Stopping by a person's word: nothing of ours is left on a machine, and the pool goes back to the last good template. */
import type { Desired, RollOutResult } from "../contracts/mod.ts";
import { endAborted, letAllGo } from "./endings.ts";
import { badChange, goBack, quarantine } from "./quarantine.ts";
import type { Rollout } from "../state/rollout.ts";
import { callOff } from "../machine/tasks.ts";

/** Begins what somebody asked for; gives a result where there is nothing to go back to. */
export async function answerAbort(rollout: Rollout, desired: Desired): Promise<RollOutResult | undefined> {
  const { abortAsked, memory } = rollout;
  if (!abortAsked) return undefined;
  rollout.desired = desired;
  rollout.publication = undefined; // it may be of another revision
  const { by, reason } = abortAsked;
  callOff(rollout, () => true);
  if (!memory.lastGood || memory.lastGood.specHash === desired.specHash) {
    // Asked until the run has ended: neither an outage nor news on the way may make it go on.
    return await endAborted(rollout, by, reason);
  }
  // Those that are leaving stay held until others stand in their place.
  await letAllGo(rollout, false);
  if (!rollout.abortAsked) return undefined; // somebody has said retry meanwhile
  rollout.abortAsked = null;
  const bad = badChange(rollout, by, `aborted by ${by}${reason ? ` (${reason})` : ""}`);
  quarantine(rollout, bad);
  goBack(rollout, { kind: "Abort", by, reason, since: Date.now(), bad, reapplied: 0 });
  return undefined;
}
