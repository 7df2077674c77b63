/** The signals, the query and the updates of workflows; the name of a constant is the registered name. */
import { defineQuery, defineSignal, defineUpdate } from "@temporalio/workflow";
import type { Phase, Progress } from "../contracts/mod.ts";

/**
 * The pool changed: read it again. A surplus signal does no harm, because the run reads the present state. With
 * `observed`, only the desired state changed, and `observed` is the digest of the new desired state.
 */
export const desiredChanged = defineSignal<[{ generation?: number; observed?: string }?]>("desiredChanged");

/** A JoiningNode, or the node that it announces, changed: read both again. */
export const joiningChanged = defineSignal<[]>("joiningChanged");

/** An AutoscalingStrategy, or a group that may be scaled, changed: read them again. */
export const autoscalingChanged = defineSignal<[]>("autoscalingChanged");

/** A NodeVersion, or one of its groups, changed: read them again. */
export const nodeVersionChanged = defineSignal<[]>("nodeVersionChanged");

/** An OSImage changed, or a user requests a new evaluation: evaluate it again. */
export const imageChanged = defineSignal<[]>("imageChanged");

/** A command of a person. `by` and `reason` appear in Events and on the Rollout. */
export interface Command {
  by?: string;
  reason?: string;
  /** For approve: the hash of the plan to approve; a stale hash is refused. */
  plan?: string;
  /** For skip: the machine that stays unchanged. */
  machine?: string;
  /** For promote: whether to make all remaining waves one, and not only to end this soak. */
  full?: boolean;
}

/**
 * Keeps new machines held, except those in place of unhealthy machines that were removed; running joins, repairs and
 * renewals of credentials continue. The update answers; the signal, for batches and tctl, does not.
 */
export const pauseRequested = defineSignal<[Command]>("pauseRequested");
export const pause = defineUpdate<Answer, [Command]>("pause");

/** Ends a pause: new machines that are held may boot once the plan permits. */
export const resumeRequested = defineSignal<[Command]>("resumeRequested");
export const resume = defineUpdate<Answer, [Command]>("resume");

/** Removes the desired change from quarantine, and retries with fresh attempts. */
export const retryRequested = defineSignal<[Command]>("retryRequested");
export const retry = defineUpdate<Answer, [Command]>("retry");

/**
 * Approves the plan with this hash; if the policy requires an approval of each wave, approves only the current wave of
 * the plan.
 */
export const approveRequested = defineSignal<[Command]>("approveRequested");
export const approve = defineUpdate<Answer, [Command]>("approve");

/** Ends the soak now, or counts inconclusive gates as passed; with `full`, all remaining waves become one. */
export const promoteRequested = defineSignal<[Command]>("promoteRequested");
export const promote = defineUpdate<Answer, [Command]>("promote");

/** Leaves one old machine unchanged until `retry`. */
export const skipRequested = defineSignal<[Command]>("skipRequested");
export const skip = defineUpdate<Answer, [Command]>("skip");

/**
 * Stops the rollout and rolls back to the last good template; without another template to roll back to, ends the run
 * and keeps the machines as they are.
 */
export const abortRequested = defineSignal<[Command]>("abortRequested");
export const abort = defineUpdate<Answer, [Command]>("abort");

/** The result of a command. */
export interface Answer {
  phase: Phase;
  message: string;
}

/** The progress of the rollout. */
export const progress = defineQuery<Progress>("progress");
