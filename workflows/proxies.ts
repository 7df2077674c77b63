/** The activities in four classes of timeouts and retries; every retry is bounded, and every wait has a deadline. */
import { proxyActivities, proxyLocalActivities, workflowInfo } from "@temporalio/workflow";
import type { ActivityInterfaceFor, LocalActivityInterfaceFor } from "@temporalio/workflow";
import { waitsQueueOf } from "./commands/start_options.ts";
import type {
  AwaitActivities,
  NodeUpdateActivities,
  PoolRef,
  PublishActivities,
  ReadActivities,
  WriteActivities,
} from "./contracts/mod.ts";
import { isIdle } from "./state/tasks.ts";
import type { Tasks } from "./state/tasks.ts";

// Eight attempts in half a minute; the main loop reports a longer outage, and then reads the pool again.
const briefRetry = {
  initialInterval: "200ms",
  backoffCoefficient: 2,
  maximumInterval: "15s",
  maximumAttempts: 8,
} as const;

// A longer pause between the attempts of a local activity becomes a timer, so that it keeps no workflow task open.
const localRetryThreshold = "1s";

// A killed worker is detected by its missing heartbeat, so a kill delays its activities by this timeout. Short steps
// send heartbeats too, so that a slow API server is not mistaken for a killed worker.
const heartbeatTimeout = "10s";

/** Options of activities whose API server or cloud can be unavailable for an hour. */
export const patient = {
  heartbeatTimeout,
  retry: { initialInterval: "200ms", backoffCoefficient: 2, maximumInterval: "30s", maximumAttempts: 300 },
} as const;

// One attempt may take longer than a write, because one such activity reads both the desired state and the machines.
const reading = { startToCloseTimeout: "40s", scheduleToCloseTimeout: "2m", retry: briefRetry } as const;

// One attempt may take longer than a write, because publishing reads the desired state too.
const publishing = { startToCloseTimeout: "40s", scheduleToCloseTimeout: "3m", retry: briefRetry } as const;

/** Reads as normal activities, for reads that are rare or can take long. */
export const read = proxyActivities<ReadActivities>({ ...reading, heartbeatTimeout });
/** Publication and reports as normal activities, which may run beside other activities. */
export const publish = proxyActivities<PublishActivities>({ ...publishing, heartbeatTimeout });

const readAlone = proxyLocalActivities<ReadActivities>({ ...reading, localRetryThreshold });
const publishAlone = proxyLocalActivities<PublishActivities>({ ...publishing, localRetryThreshold });

/**
 * Reports, as local activities, the steps that a plan begins; used only while no task of a machine or wave is running.
 */
export const tellAlone = publishAlone;
/**
 * Removes, as local activities, the replacement marks of machines that are no longer to be replaced; used only while no
 * task of a machine or wave is running.
 */
export const writeAlone = proxyLocalActivities<WriteActivities>({ ...publishing, localRetryThreshold });

/** One class of activities, as normal or as local activities. */
export type Either<Activities> = ActivityInterfaceFor<Activities> | LocalActivityInterfaceFor<Activities>;

/**
 * Returns the reads of a reconcile: local activities while no task is running, so that a reconcile is one workflow
 * task. Beside other activities the reads must be normal activities: a query in between makes a replay resolve local
 * activities in another order than recorded. The run could then not continue after a restart of its worker.
 */
export function readBeside(tasks: Readonly<Tasks>): Either<ReadActivities> {
  return isIdle(tasks) ? readAlone : read;
}

/**
 * Returns the activities that publish and report, chosen like the reads of `readBeside`. Local activities may hold up
 * the run here, because no machine can boot anyway before the publication is done.
 */
export function publishBeside(tasks: Readonly<Tasks>): Either<PublishActivities> {
  return isIdle(tasks) ? publishAlone : publish;
}

/** Writes to machines and nodes, as normal activities, so that each write is in the history. */
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
 * Activities that wait for a condition. Their heartbeats report what is still missing, and the absolute deadline is
 * part of their input. They have a separate task queue, because a wait can last a day, and thousands of waits must not
 * delay short steps. The name of the queue is known only within a workflow run, so the proxy reads the name at each
 * call.
 */
export const awaits = onWaitsQueue<AwaitActivities>();
/** Steps of an update in place, on the queue for waits, because each lasts until its machine has answered. */
export const updates = onWaitsQueue<NodeUpdateActivities>();

function onWaitsQueue<Activities>(): ActivityInterfaceFor<Activities> {
  return new Proxy({} as ActivityInterfaceFor<Activities>, {
    get: (_, name) => {
      const taskQueue = waitsQueueOf(workflowInfo().taskQueue);
      return proxyActivities<Activities>({ ...waiting, taskQueue })[name as keyof Activities];
    },
  });
}

/**
 * Removes Ostler's mark, hold and cordon from a machine that is no longer to be replaced. With `letGo`, also removes
 * the hold of a machine that is already being deleted; otherwise such a machine keeps its hold.
 */
export async function spare(
  pool: PoolRef,
  machine: string,
  { letGo = false, by = write }: { letGo?: boolean; by?: Sparer } = {},
): Promise<void> {
  const summary = `Uncordon and unmark ${machine}`;
  await by.ensureVictimUnmarked.executeWithOptions({ summary }, [{ pool, machine, letGo }]);
}

/**
 * The activity that unmarks machines: a normal one beside other activities, or a local one while no task is running.
 */
export type Sparer = Pick<Either<WriteActivities>, "ensureVictimUnmarked">;
