/** Every signal, query and update of a rollout; the constant's name is the name on the wire. */
import { defineQuery, defineSignal, defineUpdate } from "@temporalio/workflow";
import type { Phase, Progress } from "../contracts/mod.ts";

/**
 * Something about the pool changed: read it again. Level-triggered, so one too many costs nothing. With `observed` it is
 * what is desired that changed, and nothing else, to what has this identity.
 */
export const desiredChanged = defineSignal<[{ generation?: number; observed?: string }?]>("desiredChanged");

/** A JoiningNode, or the node that it announces, changed: look again. */
export const joiningChanged = defineSignal<[]>("joiningChanged");

/** A strategy, or a group that may be scaled, changed: read them again. */
export const autoscalingChanged = defineSignal<[]>("autoscalingChanged");

/** A NodeVersion, or one of its groups, changed: look again. */
export const nodeVersionChanged = defineSignal<[]>("nodeVersionChanged");

/** An OSImage changed, or somebody wants it judged again: look again. */
export const imageChanged = defineSignal<[]>("imageChanged");

/** Who asks, and why; both end up in the details, the Events and the history. */
export interface Command {
  by?: string;
  reason?: string;
  /** approve: the hash of the plan that is meant; a stale one is refused. */
  plan?: string;
  /** skip: the machine that stays. */
  machine?: string;
  /** promote: not only this soak, but all waves that are left. */
  full?: boolean;
}

/** Stop admitting machines; joins under way, repairs and renewals go on. The signal is for batches and tctl, the update answers. */
export const pauseRequested = defineSignal<[Command]>("pauseRequested");
export const pause = defineUpdate<Answer, [Command]>("pause");

/** Admit machines again. */
export const resumeRequested = defineSignal<[Command]>("resumeRequested");
export const resume = defineUpdate<Answer, [Command]>("resume");

/** Try again now what halted, with fresh attempts; takes the change out of quarantine. */
export const retryRequested = defineSignal<[Command]>("retryRequested");
export const retry = defineUpdate<Answer, [Command]>("retry");

/** Let the plan with this hash begin, or its next wave. */
export const approveRequested = defineSignal<[Command]>("approveRequested");
export const approve = defineUpdate<Answer, [Command]>("approve");

/** End the soak now, or take gates as passed that could not be judged; with `full` all waves at once. */
export const promoteRequested = defineSignal<[Command]>("promoteRequested");
export const promote = defineUpdate<Answer, [Command]>("promote");

/** Leave one old machine as it is. */
export const skipRequested = defineSignal<[Command]>("skipRequested");
export const skip = defineUpdate<Answer, [Command]>("skip");

/** Stop, take back every mark, hold and cordon, and go back to the last good template. */
export const abortRequested = defineSignal<[Command]>("abortRequested");
export const abort = defineUpdate<Answer, [Command]>("abort");

/** What a command led to. */
export interface Answer {
  phase: Phase;
  message: string;
}

/** Where the rollout is. */
export const progress = defineQuery<Progress>("progress");
