/** Posts a notice to where an administrator wants it. The address is a secret: it stands in no message. */
import { ApplicationFailure } from "@temporalio/common";
import { readFile } from "node:fs/promises";
import type { Notice, NoticeTarget, PoolRef } from "../../workflows/contracts/mod.ts";
import { cloudEvent } from "./cloud_event.ts";
import { filledIn, usualTemplate, wordsOf } from "./notice_text.ts";

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
