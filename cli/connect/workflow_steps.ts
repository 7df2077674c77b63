/** Reads the steps of a workflow from its history: activities with their summaries, waits, and commands of users. */
import type { Client } from "@temporalio/client";
import { defaultPayloadConverter, WorkflowNotFoundError } from "@temporalio/common";
import type { Command } from "../../workflows/commands/messages.ts";
import type { Step } from "./engine.ts";

type Request = Parameters<Client["workflowService"]["getWorkflowExecutionHistoryReverse"]>[0];
type Answer = Awaited<ReturnType<Client["workflowService"]["getWorkflowExecutionHistoryReverse"]>>;
type HistoryEvent = NonNullable<NonNullable<Answer["history"]>["events"]>[number];
type Payload = NonNullable<NonNullable<HistoryEvent["userMetadata"]>["summary"]>;

/**
 * History events to read for each requested step: scheduled, started and completed, of an activity and of a workflow
 * task.
 */
const eventsPerStep = 6;

/** Maximum runs of a pool that are read: each change, and each command to a converged pool, can start a run. */
const mostRuns = 30;

/** Returns the newest steps of all runs of a workflow id, oldest first; none without a run. */
export async function readSteps(client: Client, workflowId: string, limit: number): Promise<Step[]> {
  const steps: Step[] = [];
  let left = limit * eventsPerStep;
  for await (const runId of runsOf(client, workflowId)) {
    const run = await readRun(client, { workflowId, runId }, left);
    steps.unshift(...stepsOf(run, runId));
    left -= run.length;
    if (left <= 0 || steps.length >= limit) break;
  }
  return steps.slice(-limit);
}

// The newest run is described separately, because Temporal's list of runs may not have that run yet.
async function* runsOf(client: Client, workflowId: string): AsyncGenerator<string> {
  const newest = await client.workflow.getHandle(workflowId).describe().catch(noneForMissing);
  if (newest === undefined) return;
  yield newest.runId;
  let seen = 1;
  for await (const { runId } of client.workflow.list({ query: `WorkflowId = '${workflowId}'`, pageSize: mostRuns })) {
    if (runId !== newest.runId) yield runId;
    if (++seen > mostRuns) return;
  }
}

async function readRun(
  client: Client,
  execution: { workflowId: string; runId: string },
  most: number,
): Promise<HistoryEvent[]> {
  const events: HistoryEvent[] = [];
  const { namespace } = client.options;
  let nextPageToken: Request["nextPageToken"];
  do {
    const request = { namespace, execution, maximumPageSize: 500, ...(nextPageToken ? { nextPageToken } : {}) };
    const page = await client.workflowService.getWorkflowExecutionHistoryReverse(request).catch(noneForMissing);
    events.push(...page?.history?.events ?? []);
    nextPageToken = page?.nextPageToken?.length ? page.nextPageToken : undefined;
  } while (nextPageToken && events.length < most);
  return events.reverse();
}

function noneForMissing(error: unknown): undefined {
  const notFound = 5; // gRPC status code
  if (error instanceof WorkflowNotFoundError || (error as { code?: number }).code === notFound) return undefined;
  throw error;
}

/** Returns the steps in the events of one run, oldest first; pure. */
export function stepsOf(events: readonly HistoryEvent[], runId: string): Step[] {
  const steps: Step[] = [];
  const open = new Map<string, Step>();
  for (const event of events) {
    const begun = begins(event);
    if (begun !== undefined) {
      const step = { at: timeOf(event), id: `${runId}/${event.eventId}`, ...begun };
      steps.push(step);
      open.set(String(event.eventId), step);
    }
    const end = endOf(event);
    const step = open.get(end?.of ?? "");
    if (step === undefined || end === undefined) continue;
    step.seconds = (timeOf(event) - step.at) / 1000;
    if (end.failure !== undefined) step.failure = end.failure;
  }
  return steps;
}

function begins(event: HistoryEvent): Pick<Step, "kind" | "message"> | undefined {
  const summary = textOf(event.userMetadata?.summary);
  const activity = event.activityTaskScheduledEventAttributes?.activityType?.name;
  // Activity awaitPoolChanged only waits for the next change of the pool.
  if (activity) return { kind: activity === "awaitPoolChanged" ? "wait" : "step", message: summary ?? activity };
  if (event.timerStartedEventAttributes && summary !== undefined) return { kind: "wait", message: summary };
  const asked = event.workflowExecutionUpdateAcceptedEventAttributes?.acceptedRequest?.input ??
    signalOf(event);
  return asked?.name ? { kind: "command", message: commandText(asked.name, asked.args?.payloads?.[0]) } : undefined;
}

// The controller sends signal desiredChanged at each change of the pool; all other signals are commands of users.
function signalOf(event: HistoryEvent): { name: string; args?: { payloads?: Payload[] | null } } | undefined {
  const { signalName, input } = event.workflowExecutionSignaledEventAttributes ?? {};
  if (!signalName || signalName === "desiredChanged") return undefined;
  return { name: signalName.replace(/Requested$/, ""), ...(input ? { args: input } : {}) };
}

function commandText(name: string, payload: Payload | undefined): string {
  const { by, reason, machine } = (valueOf(payload) ?? {}) as Command;
  return `${name}${machine ? ` ${machine}` : ""}${by ? ` by ${by}` : ""}${reason ? `: ${reason}` : ""}`;
}

function endOf(event: HistoryEvent): { of: string; failure?: string } | undefined {
  const { activityTaskCompletedEventAttributes: completed, activityTaskFailedEventAttributes: failed } = event;
  const { activityTaskTimedOutEventAttributes: late, activityTaskCanceledEventAttributes: cancelled } = event;
  const timer = event.timerFiredEventAttributes ?? event.timerCanceledEventAttributes;
  if (failed) return { of: String(failed.scheduledEventId), failure: failed.failure?.message ?? "failed" };
  if (late) return { of: String(late.scheduledEventId), failure: "timed out" };
  if (timer) return { of: String(timer.startedEventId) };
  const ended = completed ?? cancelled;
  return ended ? { of: String(ended.scheduledEventId) } : undefined;
}

function timeOf({ eventTime }: HistoryEvent): number {
  return Number(eventTime?.seconds ?? 0) * 1000 + Math.floor((eventTime?.nanos ?? 0) / 1_000_000);
}

function textOf(payload: Payload | null | undefined): string | undefined {
  const value = valueOf(payload);
  return typeof value === "string" ? value : undefined;
}

function valueOf(payload: Payload | null | undefined): unknown {
  if (!payload) return undefined;
  try {
    return defaultPayloadConverter.fromPayload(payload);
  } catch {
    return undefined; // written by another payload converter, so unreadable
  }
}
