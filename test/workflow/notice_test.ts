/** Each notification is sent to each target once; an unreachable target gets it later. */
import { ApplicationFailure } from "@temporalio/common";
import { deepEqual, equal, rejects } from "node:assert/strict";
import { readConfig } from "../../workers/config.ts";
import { startNotice } from "../../workers/notices/tell_notices.ts";
import { noticeIdOf, waitsQueueOf } from "../../workflows/commands/start_options.ts";
import type { Notice } from "../../workflows/contracts/mod.ts";
import { onStage } from "../support/workflow_stage.ts";
import type { Stage } from "../support/workflow_stage.ts";

const test = onStage();
const pool = { namespace: "fleet", name: "workers" };
const both = readConfig({ OSTLER_NOTIFY_WEBHOOK_FILE: "/w", OSTLER_NOTIFY_EVENTS_FILE: "/e" });

function noticeOf(id: string): Notice {
  const at = "2026-01-01T10:00:00Z";
  return { id, kind: "Halted", at, reason: "GateFailed", message: "m", revision: "4", image: "img-4" };
}

function resultOf(stage: Stage, id: string): Promise<unknown> {
  return stage.client.workflow.getHandle(noticeIdOf(pool, id)).result();
}

/** Returns the task queues of the activities of a workflow. */
async function queuesOf(stage: Stage, id: string): Promise<unknown[]> {
  const { events } = await stage.client.workflow.getHandle(noticeIdOf(pool, id)).fetchHistory();
  const scheduled = (events ?? []).flatMap((event) => event.activityTaskScheduledEventAttributes ?? []);
  return scheduled.map(({ taskQueue }) => taskQueue?.name);
}

function told(stage: Stage, id: string): string[] {
  return stage.activities.notices.filter((each) => each.endsWith(` ${id}`)).map((each) => each.split(" ")[0] ?? "")
    .sort();
}

test("sendNotice: sends a notification to each target once, even if two controllers request it, or one requests it again after its run has ended", async (stage) => {
  const notice = noticeOf("once");
  const first = await Promise.all([1, 2].map(() => startNotice(stage.client, both, { pool, notice })));
  deepEqual(first.sort(), ["Known", "Sent"]);
  await resultOf(stage, "once");
  equal(await startNotice(stage.client, both, { pool, notice }), "Known");
  deepEqual(told(stage, "once"), ["CloudEvents", "Webhook"]);
  deepEqual(await queuesOf(stage, "once"), Array(2).fill(waitsQueueOf(both.taskQueue)));
});

test("sendNotice: retries an unreachable target, and sends to no other target twice", async (stage) => {
  stage.activities.noticeFate = (asked, target) => {
    const tries = asked.filter((each) => each === "Webhook late").length;
    return target === "Webhook" && tries < 2
      ? ApplicationFailure.retryable("HTTP 503", "NoticeUndelivered")
      : undefined;
  };
  await startNotice(stage.client, both, { pool, notice: noticeOf("late") });
  await resultOf(stage, "late");
  deepEqual(told(stage, "late"), ["CloudEvents", "Webhook", "Webhook"]);
});

test("sendNotice: fails when a target refuses the notification, and still sends it to the other target", async (stage) => {
  stage.activities.noticeFate = (_, target) =>
    target === "Webhook" ? ApplicationFailure.nonRetryable("HTTP 400", "NoticeRefused") : undefined;
  await startNotice(stage.client, both, { pool, notice: noticeOf("never") });
  await rejects(resultOf(stage, "never"), (error: Error) => /HTTP 400/.test(String((error.cause as Error).cause)));
  deepEqual(told(stage, "never"), ["CloudEvents", "Webhook"]);
});
