/** Posts a notice to where an administrator wants it. The address is a secret: it stands in no message. */
import { ApplicationFailure } from "@temporalio/common";
import { readFile } from "node:fs/promises";
import type { Notice, NoticeKind, NoticeTarget, PoolRef } from "../../workflows/contracts/mod.ts";

/** Files that tell where notices go; "" for nowhere. Read anew each time, as Secrets rotate. */
export interface NoticeFiles {
  /** Holds the URL of a webhook. */
  webhook: string;
  /** Holds the JSON that it is sent; else the usual one. */
  template: string;
  /** Holds the URL of a receiver of CloudEvents. */
  cloudEvents: string;
}

interface Delivery {
  pool: PoolRef;
  notice: Notice;
  target: NoticeTarget;
}

/** Milliseconds until there is an answer. */
const patienceMs = 15_000;
/** What is refused with these is refused again. */
const lasting = [400, 410, 413, 415, 422];

/** Delivers; safe to repeat for who knows notices by their id, which is sent along. */
export async function deliverNotice(files: NoticeFiles, { pool, notice, target }: Delivery): Promise<void> {
  const what = `deliver notice "${notice.kind}" of "${pool.namespace}/${pool.name}" to the ${told[target]}`;
  if (target === "CloudEvents") {
    const url = await addressIn(files.cloudEvents, what);
    return await post(url, { type: "application/cloudevents+json", body: cloudEvent(pool, notice), what });
  }
  const url = await addressIn(files.webhook, what);
  const body = filledIn(await templateIn(files.template, what), wordsOf(pool, notice));
  await post(url, { type: "application/json", body, what });
}

const told: Record<NoticeTarget, string> = { Webhook: "webhook", CloudEvents: "receiver of CloudEvents" };

async function addressIn(file: string, what: string): Promise<URL> {
  const url = URL.parse((await textIn(file, what)).trim());
  if (url?.protocol === "https:" || url?.protocol === "http:") return url;
  throw failure(what, "its file holds no http or https URL");
}

async function templateIn(file: string, what: string): Promise<unknown> {
  if (file === "") return usualTemplate;
  const text = await textIn(file, what);
  try {
    return JSON.parse(text);
  } catch {
    throw failure(what, `template "${file}" is no JSON`);
  }
}

async function textIn(file: string, what: string): Promise<string> {
  if (file === "") throw failure(what, "this worker is not told where it is");
  try {
    return await readFile(file, "utf8");
  } catch (error) {
    throw failure(what, `"${file}" cannot be read: ${(error as { code?: string }).code ?? "no such file"}`);
  }
}

// Where it leads is an administrator's decision, and not one of who answers there: nothing is followed.
async function post(url: URL, { type, body, what }: { type: string; body: unknown; what: string }): Promise<void> {
  const order = {
    method: "POST",
    headers: { "content-type": type, "user-agent": "ostler" },
    body: JSON.stringify(body),
    redirect: "manual",
    signal: AbortSignal.timeout(patienceMs),
  } as const;
  // Its own words name the address.
  const response = await fetch(url, order).catch((error: unknown) => {
    throw failure(what, (error as Error).name === "TimeoutError" ? "no answer in time" : "nobody answers");
  });
  await response.body?.cancel();
  if (response.ok) return;
  throw failure(what, `HTTP ${response.status}`, lasting.includes(response.status));
}

/** Tried again, unless it is lasting: an address may be mended, and who is away comes back. */
function failure(what: string, state: string, isLasting = false): ApplicationFailure {
  const message = `Cannot ${what}: ${state}`;
  return ApplicationFailure.create({ message, type: "NoticeUndelivered", nonRetryable: isLasting });
}

// A notice as a CloudEvent 1.0, in structured mode.

const types: Record<NoticeKind, string> = {
  Halted: "halted",
  RollingBack: "rolling-back",
  AwaitingApproval: "awaiting-approval",
  Converged: "converged",
  RolledBack: "rolled-back",
  Aborted: "aborted",
};

/** The event; who gets it twice knows it by source and id. */
function cloudEvent({ cluster, namespace, name }: PoolRef, { id, kind, at, ...data }: Notice): object {
  const place = `/namespaces/${namespace}/machinedeployments/${name}`;
  return {
    specversion: "1.0",
    id,
    source: cluster === undefined ? place : `/clusters/${cluster}${place}`,
    type: `dev.ostler.rollout.${types[kind]}`,
    subject: `${namespace}/${name}`,
    time: at,
    datacontenttype: "application/json",
    data: { namespace, name, ...(cluster === undefined ? {} : { cluster }), kind, ...data },
  };
}

// A notice in words, and in the JSON that a webhook wants.

const said: Record<NoticeKind, string> = {
  Halted: "is halted and waits for a person",
  RollingBack: "goes back to the last good revision",
  AwaitingApproval: "waits for somebody to approve",
  Converged: "has converged",
  RolledBack: "went back to the last good revision",
  Aborted: "was aborted",
};

/** As Slack, Mattermost, Rocket.Chat and others take it. */
const usualTemplate = { text: "{{text}}" };

/** What a template may name, by its name in double braces. */
function wordsOf(
  pool: PoolRef,
  { kind, reason, message, revision, image, at, id }: Notice,
): Record<string, string> {
  const { cluster = "", namespace, name } = pool;
  const where = cluster === "" ? `${namespace}/${name}` : `${namespace}/${name} of ${cluster}`;
  const why = [reason, message].filter(Boolean).join(": ");
  const text = `Rollout ${where} ${said[kind]}${why ? ` (${why})` : ""}`;
  return { text, kind, cluster, namespace, pool: name, reason, message, revision, image, at, id };
}

/**
 * A template with its names filled in, in each of its texts: what is filled in can end no text and begin no field. And
 * none can call for everybody in a channel: `&`, `<` and `>` are written as Slack wants them.
 */
function filledIn(template: unknown, words: Readonly<Record<string, string>>): unknown {
  if (typeof template === "string") {
    return template.replaceAll(/\{\{(\w+)\}\}/g, (whole, name: string) => escaped(words[name] ?? whole));
  }
  if (Array.isArray(template)) return template.map((each) => filledIn(each, words));
  if (typeof template !== "object" || template === null) return template;
  return Object.fromEntries(Object.entries(template).map(([key, value]) => [key, filledIn(value, words)]));
}

function escaped(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}
