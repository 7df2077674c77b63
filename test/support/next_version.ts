/**
 * Turns today's workflows into those of a future version, in which a pause precedes each read of the machines, behind a
 * patch.
 */
import { patched, sleep } from "@temporalio/workflow";
import type { WorkflowInterceptors } from "@temporalio/workflow";

const looks = ["readPool", "readRound"];

export const interceptors = (): WorkflowInterceptors => ({
  outbound: [{
    scheduleActivity: async (input, next) => {
      if (looks.includes(input.activityType) && patched("pause-before-looking")) await sleep(1);
      return await next(input);
    },
  }],
});
