/** Sends one request to a registry, limited in time, size and redirects. */
import http, { type IncomingHttpHeaders, type IncomingMessage } from "node:http";
import https from "node:https";
import { RegistryAway } from "../fault.ts";

export interface Question {
  url: URL;
  headers: Record<string, string>;
  /** Maximum bytes of the answer. */
  limit: number;
  /** Cancels the request. */
  signal?: AbortSignal | undefined;
}

/** The answer of a registry; `body` is undefined if the status is not 200, or if the body is larger than allowed. */
export interface Answer {
  status: number;
  headers: IncomingHttpHeaders;
  body: Uint8Array | undefined;
}

const answerMs = 20_000;
const longestChain = 5;
const redirects = [301, 302, 303, 307, 308];

/**
 * Sends a request and follows redirects, but not to another scheme; credentials go only to the requested host. Throws
 * RegistryAway if a host does not answer, or redirects too often or to an invalid URL; its message names the host and
 * quotes nothing of the answer.
 */
export async function exchange(question: Question): Promise<Answer> {
  let { url, headers } = question;
  for (let step = 0; step <= longestChain; step++) {
    const answer = await exchangeOnce({ ...question, url, headers });
    const { location } = answer.headers;
    if (!redirects.includes(answer.status) || location === undefined) return answer;
    const next = URL.canParse(location, url) ? new URL(location, url) : undefined;
    if (!next || next.protocol !== url.protocol || next.username !== "" || next.password !== "") {
      throw new RegistryAway(`"${url.host}" redirects to an invalid URL or another scheme`);
    }
    if (next.host !== url.host) headers = withoutAuthorization(headers);
    url = next;
  }
  throw new RegistryAway(`"${question.url.host}" redirects more than ${longestChain} times`);
}

function withoutAuthorization({ authorization: _, ...others }: Record<string, string>): Record<string, string> {
  return others;
}

async function exchangeOnce({ url, headers, limit, signal }: Question): Promise<Answer> {
  const late = AbortSignal.timeout(answerMs);
  const ends = signal ? AbortSignal.any([late, signal]) : late;
  try {
    const response = await send(url, headers, ends);
    const { statusCode: status = 0 } = response;
    const body = status === 200 ? await bounded(response, limit) : drop(response);
    return { status, headers: response.headers, body };
  } catch (error) {
    signal?.throwIfAborted();
    const code = error instanceof Error && "code" in error && typeof error.code === "string" ? ` (${error.code})` : "";
    const state = late.aborted ? `did not respond within ${answerMs / 1000} s` : `cannot be reached${code}`;
    throw new RegistryAway(`"${url.host}" ${state}`);
  }
}

function send(url: URL, headers: Record<string, string>, signal: AbortSignal): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const ask = url.protocol === "https:" ? https.request : http.request;
    ask(url, { agent: false, headers: { "user-agent": "ostler", ...headers }, signal }, resolve).on("error", reject)
      .end();
  });
}

function drop(response: IncomingMessage): undefined {
  response.destroy();
}

async function bounded(response: IncomingMessage, limit: number): Promise<Uint8Array | undefined> {
  const parts: Uint8Array[] = [];
  let size = 0;
  for await (const part of response as AsyncIterable<Uint8Array>) {
    size += part.length;
    if (size > limit) return drop(response);
    parts.push(part);
  }
  return joined(parts, size);
}

function joined(parts: readonly Uint8Array[], size: number): Uint8Array {
  const all = new Uint8Array(size);
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  return all;
}
