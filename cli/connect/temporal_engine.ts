/** Implements Engine with a Temporal client. */
import {
  type Client,
  WithStartWorkflowOperation,
  WorkflowFailedError,
  WorkflowUpdateFailedError,
  WorkflowUpdateRPCTimeoutOrCancelledError,
} from "@temporalio/client";
import { TimeoutFailure, TypedSearchAttributes, WorkflowNotFoundError } from "@temporalio/common";
import type { PoolRef, Progress, RolloutPlan } from "../../workflows/contracts/mod.ts";
import type { Answer } from "../../workflows/commands/messages.ts";
import {
  planIdOf,
  poolOf,
  shownAtStart,
  workflowIdOf,
  workflowTypeOf,
} from "../../workflows/commands/start_options.ts";
import { inCluster } from "./cluster_name.ts";
import { Refusal, TimedOut } from "../failure.ts";
import type { CommandName, Engine, EngineOptions, Order } from "./engine.ts";
import { type Home, needOwn, needQueue, readHome } from "./home.ts";
import { isLost, temporalFailure } from "./temporal_failure.ts";
import { askForImage } from "./ask_for_image.ts";
import { readSteps } from "./workflow_steps.ts";

/** Milliseconds to query the progress of a run; `status -w` shows a slower run without its progress. */
const queryMs = 2_000;
/** Milliseconds for a plan, while the user waits. */
const planMs = 60_000;
const startsRun: readonly CommandName[] = ["pause", "resume", "retry"];

/** Returns an engine that uses the client. */
export function engineOf(client: Client, options: EngineOptions): Engine {
  const { address, cluster } = options;
  let read: Promise<Home> | undefined;
  const home = (): Promise<Home> => read ??= readHome(client, options);
  const idOf = (pool: PoolRef): string => workflowIdOf(inCluster(cluster, pool));
  return {
    home,
    send: async (order) => {
      return await send(client, { address, home: await home() }, { ...order, pool: inCluster(cluster, order.pool) });
    },
    progress: (pool) => readProgress(client, home, idOf(pool)),
    plan: async (pool) => {
      const at = await home();
      return await understood(address, () => plan(client, at, inCluster(cluster, pool)));
    },
    admitImage: async (asked) => {
      const at = await home();
      return await understood(address, () => askForImage(client, { cluster, home: at }, asked));
    },
    steps: (pool, limit) => understood(address, () => readSteps(client, idOf(pool), limit)),
  };
}

interface Reached {
  address: string;
  home: Home;
}

async function send(client: Client, { address, home }: Reached, order: Order): Promise<Answer> {
  const { pool, name, within } = order;
  const object = `"${pool.namespace}/${pool.name}"`;
  const about = `${name} the rollout of ${object}`;
  needOwn(home, about);
  const once = (): Promise<Answer> => update(client, home, order);
  // A command that arrives while a workflow run completes is lost. The command is then sent a second time, to the next
  // run, on which it has the same effect.
  const sent = (): Promise<Answer> => once().catch((error: unknown) => isLost(error) ? once() : Promise.reject(error));
  try {
    return await understood(address, () => client.withDeadline(Date.now() + within, sent));
  } catch (error) {
    if (error instanceof WorkflowUpdateFailedError) {
      throw new Refusal(said(error.cause) ?? `Failed to ${about}: refused`);
    }
    if (error instanceof WorkflowNotFoundError) {
      if (startsRun.includes(name)) needQueue(home, about);
      throw new Refusal(`Failed to ${about}: no rollout is under way`);
    }
    // Temporal cannot withdraw an update, so the command did not fail yet.
    if (error instanceof WorkflowUpdateRPCTimeoutOrCancelledError) {
      throw new TimedOut(
        `No answer to ${name} of ${object} within ${within / 1000} s: Ostler may still carry it out once its worker ` +
          "runs; check the worker, then `ostler status`",
      );
    }
    throw error;
  }
}

function update(client: Client, { taskQueue, deadlines }: Home, { pool, name, command }: Order): Promise<Answer> {
  const workflowId = workflowIdOf(pool);
  if (!startsRun.includes(name) || !taskQueue) {
    return client.workflow.getHandle(workflowId).executeUpdate<Answer, [typeof command]>(name, { args: [command] });
  }
  const { typedSearchAttributes, ...shown } = shownAtStart(pool);
  const startWorkflowOperation = new WithStartWorkflowOperation(workflowTypeOf(pool), {
    workflowId,
    taskQueue,
    args: [{ ...poolOf(pool), ...(deadlines ? { deadlines } : {}) }],
    workflowIdConflictPolicy: "USE_EXISTING" as const,
    ...shown,
    typedSearchAttributes: new TypedSearchAttributes(typedSearchAttributes),
  });
  return client.workflow.executeUpdateWithStart<never, Answer, [typeof command]>(name, {
    args: [command],
    startWorkflowOperation: startWorkflowOperation as never,
  });
}

async function plan(client: Client, home: Home, pool: PoolRef): Promise<RolloutPlan> {
  const about = `plan the rollout of "${pool.namespace}/${pool.name}"`;
  needOwn(home, about);
  const taskQueue = needQueue(home, about);
  try {
    return await client.workflow.execute<(pool: PoolRef) => Promise<RolloutPlan>>("planPool", {
      ...{ workflowId: planIdOf(pool), taskQueue, args: [poolOf(pool)] },
      workflowIdConflictPolicy: "USE_EXISTING",
      workflowExecutionTimeout: planMs,
      staticSummary: "Plan a rollout for a user",
    });
  } catch (error) {
    if (!(error instanceof WorkflowFailedError)) throw error;
    if (error.cause instanceof TimeoutFailure) {
      throw new TimedOut(`Failed to ${about}: no answer within ${planMs / 1000} s; check that a worker of Ostler runs`);
    }
    throw new Refusal(said(error.cause?.cause ?? error.cause) ?? `Failed to ${about}`);
  }
}

async function readProgress(
  client: Client,
  home: () => Promise<Home>,
  workflowId: string,
): Promise<Progress | undefined> {
  const ask = (): Promise<Progress> => client.workflow.getHandle(workflowId).query<Progress>("progress");
  // The progress is optional: the status of the Rollout is shown instead.
  const asked = client.withDeadline(Date.now() + queryMs, ask).catch(() => undefined);
  const [{ owner }, progress] = await Promise.all([home(), asked]);
  return owner === "Other" ? undefined : progress;
}

async function understood<T>(address: string, work: () => Promise<T>): Promise<T> {
  return await work().catch((error: unknown) => {
    throw temporalFailure(address, error);
  });
}

function said(cause: unknown): string | undefined {
  return cause instanceof Error ? cause.message : undefined;
}
