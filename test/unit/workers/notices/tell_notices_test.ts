import { deepEqual, equal } from "node:assert/strict";
import type { Client } from "@temporalio/client";
import { WorkflowExecutionAlreadyStartedError } from "@temporalio/client";
import { readConfig } from "../../../../workers/config.ts";
import { type PoolNotice, startNotice, tellNotices } from "../../../../workers/notices/tell_notices.ts";
import type { NoticeKind } from "../../../../workflows/contracts/mod.ts";
import { eventually } from "../../../support/eventually.ts";

const log = { info: () => {}, warn: () => {} };
const hourMs = 3_600_000;

function noticed(id: string, kind: NoticeKind = "Halted", hoursAgo = 0): PoolNotice {
  const at = new Date(Date.now() - hoursAgo * hourMs).toISOString();
  const said = { reason: "r", message: "m", revision: "4", image: "img-4" };
  return { pool: { namespace: "fleet", name: "workers" }, notice: { id, kind, at, ...said } };
}

/** Sends notifications until `isEnough` returns true, and returns the sent IDs; `isEnough` may change `notices`. */
async function tell(
  notices: PoolNotice[],
  isEnough: (sent: string[]) => boolean,
  { kinds = ["Halted", "Converged"] as NoticeKind[], refuse = (_: string[]): boolean => false } = {},
): Promise<string[]> {
  const sent: string[] = [];
  const ended = new AbortController();
  const send = async ({ notice }: PoolNotice): Promise<"Sent"> => {
    await Promise.resolve();
    sent.push(notice.id);
    if (refuse(sent)) throw new Error("away");
    return "Sent";
  };
  const telling = tellNotices({ notices: () => notices, send, kinds, log, lookEvery: 1 }, ended.signal);
  await eventually("all notifications to be sent", () => isEnough(sent));
  ended.abort();
  await telling;
  return sent;
}

Deno.test("tellNotices: sends each notification once, however often it is read", async () => {
  const notices = [noticed("a")];
  const sent = await tell(notices, (sent) => {
    if (sent.length === 1) notices[0] = noticed("b");
    return sent.length === 2;
  });
  deepEqual(sent, ["a", "b"]);
});

Deno.test("tellNotices: retries a notification that could not be sent", async () => {
  const sent = await tell([noticed("a")], (sent) => sent.length === 3, { refuse: (sent) => sent.length < 3 });
  deepEqual(sent, ["a", "a", "a"]);
});

Deno.test("tellNotices: sends no notification that is older than a day at the start, and none of an unrequested kind", async () => {
  const notices = [noticed("old", "Halted", 25), noticed("new", "Halted", 23), noticed("end", "Converged")];
  deepEqual(await tell(notices, (sent) => sent.includes("new"), { kinds: ["Halted"] }), ["new"]);
});

Deno.test("tellNotices: sends notifications that arrive after the start, whatever their time", async () => {
  const notices = [noticed("a")];
  const sent = await tell(notices, (sent) => {
    if (sent.length === 1) notices[0] = noticed("b", "Halted", 48);
    return sent.length === 2;
  });
  deepEqual(sent, ["a", "b"]);
});

Deno.test("tellNotices: starts one workflow with the ID of the notification, and does not start it a second time", async () => {
  const calls: [string, Record<string, unknown>][] = [];
  const known = new Set<unknown>();
  const start = (type: string, options: Record<string, unknown>): Promise<void> => {
    const { workflowId } = options;
    if (known.has(workflowId)) throw new WorkflowExecutionAlreadyStartedError("x", `${workflowId}`, type);
    known.add(workflowId);
    return Promise.resolve(void calls.push([type, options]));
  };
  const client = { workflow: { start } } as unknown as Client;
  const config = readConfig({
    OSTLER_CLUSTER: "north",
    OSTLER_NOTIFY_WEBHOOK_FILE: "/w",
    OSTLER_NOTIFY_EVENTS_FILE: "/e",
  });
  equal(await startNotice(client, config, noticed("a")), "Sent");
  equal(await startNotice(client, config, noticed("a")), "Known");
  const [[type, options] = ["", {}]] = calls;
  deepEqual([type, options["workflowId"], options["taskQueue"], options["workflowIdReusePolicy"]], [
    ...["sendNotice", "north/notice/fleet/workers/a", "ostler-north", "REJECT_DUPLICATE"],
  ]);
  const [{ pool, to }] = options["args"] as [{ pool: unknown; to: unknown }];
  deepEqual([pool, to], [{ cluster: "north", namespace: "fleet", name: "workers" }, ["Webhook", "CloudEvents"]]);
});
