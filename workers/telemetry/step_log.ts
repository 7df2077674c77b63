/** Log lines of steps, each with its workflow, pool, machine and node. */
import type { ActivityInterceptorsFactory } from "@temporalio/worker";
import { type StepSubject, subjectOf } from "./step_subject.ts";

/**
 * Adds attributes to the SDK's log lines of an activity, which are warnings for failures and otherwise debug lines, and
 * logs the successful end of each step about machines.
 */
export const stepLog: ActivityInterceptorsFactory = (context) => {
  let subject: StepSubject = {};
  return {
    inbound: {
      execute: async (input, next) => {
        subject = subjectOf(input.args[0]);
        const result = await next(input);
        if (subject.machine !== undefined || subject.machines !== undefined) context.log.info("Step done");
        return result;
      },
    },
    outbound: {
      getLogAttributes: (input, next) => {
        // The token is as long as all other attributes together, and of no use to readers.
        const { taskToken: _, ...attributes } = next(input);
        return { ...attributes, ...subject };
      },
    },
  };
};
