/** The activities in four classes of timeout and retry; every retry is bounded, every wait has a deadline of its own. */
import { proxyActivities, proxyLocalActivities, workflowInfo } from "@temporalio/workflow";
import type { ActivityInterfaceFor, LocalActivityInterfaceFor } from "@temporalio/workflow";
import { waitsQueueOf } from "./commands/start_options.ts";
import type {
  AwaitActivities,
  NodeUpdateActivities,
  PublishActivities,
  ReadActivities,
  WriteActivities,
} from "./contracts/mod.ts";
import { isIdle } from "./state/tasks.ts";
import type { Tasks } from "./state/tasks.ts";

// Eight tries in half a minute: longer trouble is left to the main loop, which says so and looks again.
const briefRetry = {
  initialInterval: "200ms",
  backoffCoefficient: 2,
  maximumInterval: "15s",
  maximumAttempts: 8,
} as const;

// A longer pause between tries becomes a timer, so that no workflow task is kept open for it.
const localRetryThreshold = "1s";

// A killed worker is noticed by its missing heartbeat, so the timeout is the pause a kill costs. A slow API server is not
// taken for one: short steps give signs of life too while they are at work.
const heartbeatTimeout = "10s";

// One step of a round reads what is desired and the machines.
const reading = { startToCloseTimeout: "40s", scheduleToCloseTimeout: "2m", retry: briefRetry } as const;

const publishing = { startToCloseTimeout: "30s", scheduleToCloseTimeout: "3m", retry: briefRetry } as const;

/** Reads on ways that are rare, or that may take long. */
export const read = proxyActivities<ReadActivities>({ ...reading, heartbeatTimeout });
/**
 * Publishes beside others, and reports: what comes while a run tells of its end is heard before it ends, which a local
 * activity would leave no time for.
 */
export const publish = proxyActivities<PublishActivities>({ ...publishing, heartbeatTimeout });

const readAlone = proxyLocalActivities<ReadActivities>({ ...reading, localRetryThreshold });
const publishAlone = proxyLocalActivities<PublishActivities>({ ...publishing, localRetryThreshold });

/** Reports what is about to begin, as long as nothing is under way yet; and takes marks back by the same rule. */
export const tellAlone = publishAlone;
export const writeAlone = proxyLocalActivities<WriteActivities>({ ...publishing, localRetryThreshold });

/** One class of activities, each in a way of its own or local. */
export type Either<Activities> = ActivityInterfaceFor<Activities> | LocalActivityInterfaceFor<Activities>;

/**
 * Reads of every round. Local while nothing else is under way: a round is then one workflow task. Beside other
 * activities, a query that comes in between makes a replay resolve local ones in another order than they came in, and
 * the run could never go on after a restart of its worker.
 */
export function readBeside(tasks: Readonly<Tasks>): Either<ReadActivities> {
  return isIdle(tasks) ? readAlone : read;
}

/** Publishes by the same rule; no machine can boot before it is done. */
export function publishBeside(tasks: Readonly<Tasks>): Either<PublishActivities> {
  return isIdle(tasks) ? publishAlone : publish;
}

/** Writes to machines and nodes: normal activities, so that each stands in the history by itself. */
export const write = proxyActivities<WriteActivities>({
  startToCloseTimeout: "30s",
  scheduleToCloseTimeout: "3m",
  heartbeatTimeout,
  retry: briefRetry,
});

const waiting = {
  startToCloseTimeout: "24h",
  heartbeatTimeout,
  retry: { initialInterval: "500ms", backoffCoefficient: 2, maximumInterval: "15s", maximumAttempts: 80 },
} as const;

/**
 * Waits: heartbeats tell what is still missing; the absolute deadline is part of the input. On a queue of their own, as
 * one may last a day: thousands of them take no slot from a step. Which queue only a run knows, so it is asked for late.
 */
export const awaits = onWaitsQueue<AwaitActivities>();
/** Steps of an update in place: each lasts until its machine has answered. */
export const updates = onWaitsQueue<NodeUpdateActivities>();

function onWaitsQueue<Activities>(): ActivityInterfaceFor<Activities> {
  return new Proxy({} as ActivityInterfaceFor<Activities>, {
    get: (_, name) => {
      const taskQueue = waitsQueueOf(workflowInfo().taskQueue);
      return proxyActivities<Activities>({ ...waiting, taskQueue })[name as keyof Activities];
    },
  });
}
