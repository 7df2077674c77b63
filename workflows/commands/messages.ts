/** Every signal, query and update of a rollout; the constant's name is the registered name. */
import { defineQuery, defineSignal, defineUpdate } from "@temporalio/workflow";
import type { Phase, Progress } from "../contracts/mod.ts";

/**
 * The pool changed: read it again. Level-triggered, so a surplus signal costs nothing. With `observed`, only the
 * desired state changed, to the one with this identity.
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

/** The user and the reason; both are in the details, the Events and the history. */
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
 * Keeps new machines held, except to replace unhealthy machines that are removed; running joins, repairs and renewals
 * of credentials continue. The signal is for batches and tctl; the update answers.
 */
export const pauseRequested = defineSignal<[Command]>("pauseRequested");
export const pause = defineUpdate<Answer, [Command]>("pause");

/** Lets held new machines boot again, as the plan permits. */
export const resumeRequested = defineSignal<[Command]>("resumeRequested");
export const resume = defineUpdate<Answer, [Command]>("resume");

/** Retries what halted, with fresh attempts; removes the change from quarantine. */
export const retryRequested = defineSignal<[Command]>("retryRequested");
export const retry = defineUpdate<Answer, [Command]>("retry");

/** Approves the beginning of the plan with this hash, or of its next wave. */
export const approveRequested = defineSignal<[Command]>("approveRequested");
export const approve = defineUpdate<Answer, [Command]>("approve");

/** Ends the soak now, or counts inconclusive gates as passed; with `full`, all remaining waves become one. */
export const promoteRequested = defineSignal<[Command]>("promoteRequested");
export const promote = defineUpdate<Answer, [Command]>("promote");

/** Leaves one old machine unchanged. */
export const skipRequested = defineSignal<[Command]>("skipRequested");
export const skip = defineUpdate<Answer, [Command]>("skip");

/** Stops the rollout, removes every mark, hold and cordon, and rolls back to the last good template. */
export const abortRequested = defineSignal<[Command]>("abortRequested");
export const abort = defineUpdate<Answer, [Command]>("abort");

/** The result of a command. */
export interface Answer {
  phase: Phase;
  message: string;
}

/** The progress of the rollout. */
export const progress = defineQuery<Progress>("progress");
