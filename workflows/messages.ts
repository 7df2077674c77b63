/** Every signal, query and update of a rollout; the constant's name is the name on the wire. */
import { defineQuery, defineSignal, defineUpdate } from "@temporalio/workflow";
import type { Phase, Progress } from "./contracts.ts";

/** Something about the pool changed: read it again. Level-triggered, so one too many costs nothing. */
export const desiredChanged = defineSignal<[{ generation?: number }]>("desiredChanged");

/** Who asks, and why; both end up in the details, the Events and the history. */
export interface Request {
  by?: string;
  reason?: string;
}

/** Stop admitting machines; joins under way go on. The signal is for batches and tctl, the update answers. */
export const pauseRequested = defineSignal<[Request]>("pauseRequested");
export const pause = defineUpdate<Answer, [Request]>("pause");

/** Admit machines again. */
export const resumeRequested = defineSignal<[Request]>("resumeRequested");
export const resume = defineUpdate<Answer, [Request]>("resume");

/** Try again now what halted, with a fresh count of attempts. */
export const retryRequested = defineSignal<[Request]>("retryRequested");
export const retry = defineUpdate<Answer, [Request]>("retry");

/** What a request led to. */
export interface Answer {
  phase: Phase;
  message: string;
}

/** Where the rollout is. */
export const progress = defineQuery<Progress>("progress");
