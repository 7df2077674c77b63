/** Stopping by a person's word: nothing of ours is left on a machine, and the pool goes back to the last good template. */
import type { Desired, RollOutResult } from "../contracts/mod.ts";
import { callOff } from "../machine/tasks.ts";
import type { Rollout } from "../state/rollout.ts";
import { endAborted, releaseAll } from "./endings.ts";
import { badChange, goBack, quarantine } from "./quarantine.ts";

/** Begins what somebody asked for; gives a result where there is nothing to go back to. */
export async function answerAbort(rollout: Rollout, desired: Desired): Promise<RollOutResult | undefined> {
  const { people, target, tasks, memory } = rollout;
  if (!people.abortAsked) return undefined;
  target.desired = desired;
  target.publication = undefined; // it may be of another revision
  const { by, reason } = people.abortAsked;
  callOff(tasks, () => true);
  if (!memory.lastGood || memory.lastGood.specHash === desired.specHash) {
    // Asked until the run has ended: neither an outage nor news on the way may make it go on.
    return await endAborted(rollout, by, reason);
  }
  // Those that are leaving stay held until others stand in their place.
  await releaseAll(rollout, false);
  if (!people.abortAsked) return undefined; // somebody has said retry meanwhile
  people.abortAsked = null;
  const bad = badChange(target, by, `aborted by ${by}${reason ? ` (${reason})` : ""}`);
  quarantine(rollout, bad);
  goBack(rollout, { kind: "Abort", by, reason, since: Date.now(), bad, reapplied: 0 });
  return undefined;
}
