/**
 * Posts a notification to a receiver that an administrator configured. The address is secret: no message contains it.
 */
import { ApplicationFailure } from "@temporalio/common";
import { readFile } from "node:fs/promises";
import type { Notice, NoticeKind, NoticeTarget, PoolRef } from "../../workflows/contracts/mod.ts";

/** Paths of files with the receivers of notifications; "" for none. Read for each delivery, because Secrets rotate. */
export interface NoticeFiles {
  /** File that contains the URL of a webhook. */
  webhook: string;
  /** File that contains the JSON template of the webhook's body; without it, the default template is used. */
  template: string;
  /** File that contains the URL of a CloudEvents receiver. */
  cloudEvents: string;
}

interface Delivery {
  pool: PoolRef;
  notice: Notice;
  target: NoticeTarget;
}

/** Timeout of a request, in milliseconds. */
const patienceMs = 15_000;
/** HTTP status codes of a receiver that would refuse a repeated request too. */
const lasting = [400, 410, 413, 415, 422];

/** Delivers a notification with its id, by which a receiver can recognise a repeated delivery. */
export async function deliverNotice(files: NoticeFiles, { pool, notice, target }: Delivery): Promise<void> {
  const what = `deliver notification "${notice.kind}" of "${pool.namespace}/${pool.name}" to the ${told[target]}`;
  if (target === "CloudEvents") {
    const url = await addressIn(files.cloudEvents, what);
    return await post(url, { type: "application/cloudevents+json", body: cloudEvent(pool, notice), what });
  }
  const url = await addressIn(files.webhook, what);
  const body = filledIn(await templateIn(files.template, what), wordsOf(pool, notice));
  await post(url, { type: "application/json", body, what });
}

const told: Record<NoticeTarget, string> = { Webhook: "webhook", CloudEvents: "CloudEvents receiver" };

async function addressIn(file: string, what: string): Promise<URL> {
  const url = URL.parse((await textIn(file, what)).trim());
  if (url?.protocol === "https:" || url?.protocol === "http:") return url;
  throw failure(what, "the file with the receiver's URL does not contain an http or https URL");
}

async function templateIn(file: string, what: string): Promise<unknown> {
  if (file === "") return usualTemplate;
  const text = await textIn(file, what);
  try {
    return JSON.parse(text);
  } catch {
    throw failure(what, `template "${file}" is not valid JSON`);
  }
}

async function textIn(file: string, what: string): Promise<string> {
  if (file === "") throw failure(what, "this worker has no file with the receiver's URL");
  try {
    return await readFile(file, "utf8");
  } catch (error) {
    throw failure(what, `"${file}" cannot be read: ${(error as { code?: string }).code ?? "no such file"}`);
  }
}

// Redirects are not followed: the administrator, and not the receiver, decides where data is sent.
async function post(url: URL, { type, body, what }: { type: string; body: unknown; what: string }): Promise<void> {
  const order = {
    method: "POST",
    headers: { "content-type": type, "user-agent": "ostler" },
    body: JSON.stringify(body),
    redirect: "manual",
    signal: AbortSignal.timeout(patienceMs),
  } as const;
  // The message of the fetch error is left out, because it contains the address, which can be secret.
  const response = await fetch(url, order).catch((error: unknown) => {
    throw failure(
      what,
      (error as Error).name === "TimeoutError"
        ? `no response within ${patienceMs / 1000} s`
        : "the receiver is unreachable",
    );
  });
  await response.body?.cancel();
  if (response.ok) return;
  throw failure(what, `the receiver responded HTTP ${response.status}`, lasting.includes(response.status));
}

/**
 * Returns a failure. Temporal retries it unless `isLasting`, because an administrator may fix the address, or a
 * receiver may come back. A lasting one is counted only once, so it has a type of its own for the alert.
 */
function failure(what: string, state: string, isLasting = false): ApplicationFailure {
  const message = `Failed to ${what}: ${state}`;
  const type = isLasting ? "NoticeRefused" : "NoticeUndelivered";
  return ApplicationFailure.create({ message, type, nonRetryable: isLasting });
}

// A notification as a CloudEvent 1.0, in structured mode.

const types: Record<NoticeKind, string> = {
  Halted: "halted",
  RollingBack: "rolling-back",
  AwaitingApproval: "awaiting-approval",
  Converged: "converged",
  RolledBack: "rolled-back",
  Aborted: "aborted",
};

/** Returns the event; a receiver recognises duplicates by source and id. */
function cloudEvent(pool: PoolRef, { id, kind, at, ...data }: Notice): object {
  const { cluster, namespace, name } = pool;
  const place = placeOf(pool);
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

/** Returns the path of the pool's MachineDeployment; for a pool of another kind, that of its Rollout. */
function placeOf({ kind = "MachineDeployment", namespace, name }: PoolRef): string {
  return `/namespaces/${namespace}/${kind === "MachineDeployment" ? "machinedeployments" : "rollouts"}/${name}`;
}

// A notification in words, and in the JSON that a webhook expects.

const said: Record<NoticeKind, string> = {
  Halted: "is halted until an administrator acts",
  RollingBack: "is rolling back to the last good revision",
  AwaitingApproval: "is waiting for approval",
  Converged: "has converged",
  RolledBack: "was rolled back to the last good revision",
  Aborted: "was aborted",
};

/** The format of Slack, Mattermost, Rocket.Chat and others. */
const usualTemplate = { text: "{{text}}" };

/** Returns the variables of a template, by their name in double braces. */
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
 * Returns a parsed template with the variables in its texts replaced, so that a value can neither end a text nor begin
 * a field. A value cannot mention everybody in a channel either: `&`, `<` and `>` are escaped as Slack requires.
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
