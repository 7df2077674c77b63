import assert from "node:assert/strict";
import { defaultPayloadConverter } from "@temporalio/common";
import { stepsOf } from "../../../../cli/connect/workflow_steps.ts";

type Event = Parameters<typeof stepsOf>[0][number];

let last = 0;

function event(second: number, attributes: object, summary?: string): Event {
  last += 1;
  const metadata = summary === undefined ? {} : { userMetadata: { summary: payload(summary) } };
  return {
    eventId: last,
    eventTime: { seconds: second, nanos: 500_000_000 },
    ...attributes,
    ...metadata,
  } as unknown as Event;
}

function payload(value: unknown): unknown {
  return defaultPayloadConverter.toPayload(value);
}

function scheduled(second: number, name: string, summary?: string): Event {
  return event(second, { activityTaskScheduledEventAttributes: { activityType: { name } } }, summary);
}

Deno.test("stepsOf: returns activities with summary, duration and failure", () => {
  const first = scheduled(10, "ensureMachineAdmitted", "Admit m-1");
  const done = event(13, { activityTaskCompletedEventAttributes: { scheduledEventId: first.eventId } });
  const second = scheduled(20, "awaitNodeDrained");
  const failure = { scheduledEventId: second.eventId, failure: { message: "it stays" } };
  const failed = event(21, { activityTaskFailedEventAttributes: failure });
  const third = scheduled(30, "awaitMachineGone");
  assert.deepEqual(stepsOf([first, done, second, failed, third], "run"), [
    { at: 10_500, id: `run/${first.eventId}`, kind: "step", message: "Admit m-1", seconds: 3 },
    {
      at: 20_500,
      id: `run/${second.eventId}`,
      kind: "step",
      message: "awaitNodeDrained",
      seconds: 1,
      failure: "it stays",
    },
    { at: 30_500, id: `run/${third.eventId}`, kind: "step", message: "awaitMachineGone" },
  ]);
});

Deno.test("stepsOf: omits timers without a summary", () => {
  const named = event(1, { timerStartedEventAttributes: { timerId: "1" } }, "Look again");
  const silent = event(2, { timerStartedEventAttributes: { timerId: "2" } });
  const fired = event(9, { timerFiredEventAttributes: { startedEventId: named.eventId } });
  const [step, ...others] = stepsOf([named, silent, fired], "run");
  assert.deepEqual([step?.kind, step?.message, step?.seconds, others], ["wait", "Look again", 8, []]);
});

Deno.test("stepsOf: returns updates and signals of people, but not those of the controller", () => {
  const args = { payloads: [payload({ by: "ada", reason: "lunch" })] };
  const update = event(1, {
    workflowExecutionUpdateAcceptedEventAttributes: { acceptedRequest: { input: { name: "pause", args } } },
  });
  const input = { payloads: [payload({ by: "eve", machine: "m-1" })] };
  const signal = event(2, { workflowExecutionSignaledEventAttributes: { signalName: "skipRequested", input } });
  const nudge = event(3, { workflowExecutionSignaledEventAttributes: { signalName: "desiredChanged" } });
  assert.deepEqual(stepsOf([update, signal, nudge], "run").map(({ kind, message }) => [kind, message]), [
    ["command", "pause by ada: lunch"],
    ["command", "skip m-1 by eve"],
  ]);
});
