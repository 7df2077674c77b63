/**
 * Has notices sent: each by a run of its own, which Temporal refuses a second time, so that nothing has to be remembered
 * here that Temporal does not remember. Only the controller that leads does it.
 */
import type { Client } from "@temporalio/client";
import { WorkflowExecutionAlreadyStartedError } from "@temporalio/client";
import type { Logger } from "@temporalio/common";
import { setTimeout } from "node:timers/promises";
import { noticeIdOf, poolOf } from "../../workflows/commands/start_options.ts";
import type { Notice, NoticeKind, NoticeTarget, PoolRef } from "../../workflows/contracts/mod.ts";
import type { Config } from "../config.ts";

/** Milliseconds between looks at what the watch knows, which costs nobody anything. */
const lookEveryMs = 5_000;
/** What is older when a controller begins to look was told by the one before, or is too old to be told. */
const newsForMs = 86_400_000;
/** Runs that are started at a time. */
const width = 10;

/** A notice and the pool that it is about. */
export interface PoolNotice {
  pool: PoolRef;
  notice: Notice;
}

export interface NoticeDeps {
  /** All that Rollouts have to tell now. */
  notices: () => Iterable<PoolNotice>;
  /** Starts its run, or finds that there was one. */
  send: (of: PoolNotice) => Promise<"Sent" | "Known">;
  kinds: readonly NoticeKind[];
  log: Pick<Logger, "info" | "warn">;
  lookEvery?: number;
}

/** Where notices go by the settings; nowhere is off. */
export function targetsOf(
  { notifyWebhookFile, notifyEventsFile }: Pick<Config, "notifyWebhookFile" | "notifyEventsFile">,
): NoticeTarget[] {
  const found: [string, NoticeTarget][] = [[notifyWebhookFile, "Webhook"], [notifyEventsFile, "CloudEvents"]];
  return found.filter(([file]) => file !== "").map(([, target]) => target);
}

/** Sends what is news until `signal` aborts; what could not be sent is tried at the next look. */
export async function tellNotices(deps: NoticeDeps, signal: AbortSignal): Promise<void> {
  let known = new Set(old(deps, Date.now()));
  while (!signal.aborted) {
    const now = [...deps.notices()].filter(({ notice }) => deps.kinds.includes(notice.kind));
    // What is told by no Rollout any more need not be known.
    known = new Set(now.map(({ notice }) => notice.id).filter((id) => known.has(id)));
    const news = now.filter(({ notice }) => !known.has(notice.id));
    for (let at = 0; at < news.length && !signal.aborted; at += width) {
      const told = await Promise.all(news.slice(at, at + width).map((each) => send(deps, each)));
      for (const id of told) if (id !== undefined) known.add(id);
    }
    await setTimeout(deps.lookEvery ?? lookEveryMs, undefined, { signal }).catch(() => undefined); // ends the rest early
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

/** Starts the run of a notice, once for each id as long as Temporal keeps what has ended. */
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
      staticSummary: `Tell that ${namespace}/${name} is ${notice.kind}`,
    });
    return "Sent";
  } catch (error) {
    if (error instanceof WorkflowExecutionAlreadyStartedError) return "Known";
    throw error;
  }
}
