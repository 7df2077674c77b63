/**
 * Starts a run for each notification. Temporal refuses a second run with the same id, so this process needs no memory
 * of its own. Only the leading controller does this.
 */
import type { Client } from "@temporalio/client";
import { WorkflowExecutionAlreadyStartedError } from "@temporalio/client";
import type { Logger } from "@temporalio/common";
import { setTimeout } from "node:timers/promises";
import { noticeIdOf, poolOf } from "../../workflows/commands/start_options.ts";
import type { Notice, NoticeKind, NoticeTarget, PoolRef } from "../../workflows/contracts/mod.ts";
import type { Config } from "../config.ts";

/** Milliseconds between checks of the watch, which send no requests. */
const lookEveryMs = 5_000;
/** Age (ms) above which a new leader does not send a notification: it was sent before, or would come too late. */
const newsForMs = 86_400_000;
/** Maximum runs that are started concurrently. */
const width = 10;

/** A notification with its pool. */
export interface PoolNotice {
  pool: PoolRef;
  notice: Notice;
}

interface NoticeDeps {
  /** Returns all current notifications. */
  notices: () => Iterable<PoolNotice>;
  /** Starts a run, or finds that it has been started before. */
  send: (of: PoolNotice) => Promise<"Sent" | "Known">;
  kinds: readonly NoticeKind[];
  log: Pick<Logger, "info" | "warn">;
  lookEvery?: number;
}

/** Returns the targets of notifications in the settings; none if disabled. */
export function targetsOf(
  { notifyWebhookFile, notifyEventsFile }: Pick<Config, "notifyWebhookFile" | "notifyEventsFile">,
): NoticeTarget[] {
  const found: [string, NoticeTarget][] = [[notifyWebhookFile, "Webhook"], [notifyEventsFile, "CloudEvents"]];
  return found.filter(([file]) => file !== "").map(([, target]) => target);
}

/** Sends new notifications until `signal` aborts; a failed one is retried at the next check. */
export async function tellNotices(deps: NoticeDeps, signal: AbortSignal): Promise<void> {
  let known = new Set(old(deps, Date.now()));
  while (!signal.aborted) {
    const now = [...deps.notices()].filter(({ notice }) => deps.kinds.includes(notice.kind));
    // Notifications that no Rollout has any more are forgotten.
    known = new Set(now.map(({ notice }) => notice.id).filter((id) => known.has(id)));
    const news = now.filter(({ notice }) => !known.has(notice.id));
    for (let at = 0; at < news.length && !signal.aborted; at += width) {
      const told = await Promise.all(news.slice(at, at + width).map((each) => send(deps, each)));
      for (const id of told) if (id !== undefined) known.add(id);
    }
    await setTimeout(deps.lookEvery ?? lookEveryMs, undefined, { signal }).catch(() => undefined); // ends the pause
  }
}

function old({ notices }: NoticeDeps, now: number): string[] {
  const isOld = ({ notice }: PoolNotice): boolean => !(Date.parse(notice.at) > now - newsForMs);
  return [...notices()].filter(isOld).map(({ notice }) => notice.id);
}

async function send({ send, log }: NoticeDeps, each: PoolNotice): Promise<string | undefined> {
  const { pool: { namespace, name }, notice: { id, kind } } = each;
  try {
    if (await send(each) === "Sent") log.info("Notification sent", { pool: `${namespace}/${name}`, kind, id });
    return id;
  } catch (error) {
    log.warn(`Failed to send notification "${kind}" of "${namespace}/${name}"; retrying`, { error });
    return undefined;
  }
}

/** Starts the run of a notification, once per id for as long as Temporal keeps the ended run. */
export async function startNotice(
  client: Client,
  config: Config,
  { pool: seen, notice }: PoolNotice,
): Promise<"Sent" | "Known"> {
  const pool = config.cluster === "" ? poolOf(seen) : { cluster: config.cluster, ...poolOf(seen) };
  const { namespace, name } = pool;
  try {
    await client.workflow.start("sendNotice", {
      workflowId: noticeIdOf(pool, notice.id),
      workflowIdReusePolicy: "REJECT_DUPLICATE",
      workflowIdConflictPolicy: "FAIL",
      taskQueue: config.taskQueue,
      args: [{ pool, notice, to: targetsOf(config) }],
      staticSummary: `Notify that ${namespace}/${name} is ${notice.kind}`,
    });
    return "Sent";
  } catch (error) {
    if (error instanceof WorkflowExecutionAlreadyStartedError) return "Known";
    throw error;
  }
}
