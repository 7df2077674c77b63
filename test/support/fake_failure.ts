/** How fake activities fail. */
import { ApplicationFailure } from "@temporalio/common";
import type { FailureType } from "../../workflows/contracts/mod.ts";

/** A failure as an activity makes it when it gave up for good, so that no retry slows a test. */
export function failure(type: FailureType, message: string): ApplicationFailure {
  return ApplicationFailure.nonRetryable(message, type);
}
