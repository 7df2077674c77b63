/** Log lines of steps: each says of which workflow it is, and of which pool, machine and node. */
import type { ActivityInterceptorsFactory } from "@temporalio/worker";
import { type StepSubject, subjectOf } from "./step_subject.ts";

/**
 * Adds to what the SDK logs of an activity, and says when one that is about a machine is done: failures are warnings, all
 * else is for those who debug.
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
        // As long as all the rest, and of use to nobody who reads.
        const { taskToken: _, ...attributes } = next(input);
        return { ...attributes, ...subject };
      },
    },
  };
};
