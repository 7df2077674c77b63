/**
 * Sends one request to one member of etcd. The connection is new, because a request on a reused one may be sent twice
 * when the connection breaks; time and size are limited, and redirects are not followed.
 */
import { asyncLocalStorage } from "@temporalio/activity";
import { Buffer } from "node:buffer";
import type { IncomingMessage } from "node:http";
import https from "node:https";
import { ErrorAnswer } from "./answers.ts";
import type { Credentials } from "./certificates.ts";
import { brokenFault, EtcdFault, faultOf } from "./fault.ts";

export interface Question {
  /** Endpoint in the form https://host:port. */
  endpoint: string;
  path: string;
  body: object;
  credentials: Credentials;
  /** Cancels the request. */
  signal?: AbortSignal | undefined;
}

const largestAnswer = 1_000_000;
const answerMs = 5_000;

/**
 * Returns the JSON of the response. Throws EtcdFault if the request fails, or the abort reason if `signal` or a
 * cancellation of the activity ends the request.
 */
export async function ask(question: Question): Promise<unknown> {
  const late = AbortSignal.timeout(answerMs);
  const called = calledOff(question.signal);
  try {
    const response = await send(question, AbortSignal.any([late, ...called]));
    return await answerIn(question, response);
  } catch (error) {
    for (const signal of called) signal.throwIfAborted();
    if (error instanceof EtcdFault) throw error;
    const state = `"${question.endpoint}" did not respond within ${answerMs / 1000} s`;
    throw late.aborted ? new EtcdFault("Silent", state) : brokenFault(question.endpoint, error);
  }
}

/** Returns the signals that cancel a request: the caller's and that of the running activity. */
export function calledOff(signal: AbortSignal | undefined): AbortSignal[] {
  return [signal, asyncLocalStorage.getStore()?.cancellationSignal].filter((each) => each !== undefined);
}

async function send(
  { endpoint, path, body, credentials: { ca, cert, key } }: Question,
  signal: AbortSignal,
): Promise<IncomingMessage> {
  signal.throwIfAborted();
  const text = JSON.stringify(body);
  const headers = { "content-type": "application/json", "content-length": String(Buffer.byteLength(text)) };
  const agent = new https.Agent({ keepAlive: false });
  return await new Promise((resolve, reject) => {
    const options = { method: "POST", agent, headers, signal, ca, cert, key };
    https.request(new URL(path, endpoint), options, resolve).on("error", reject).end(text);
  });
}

async function answerIn({ endpoint }: Question, response: IncomingMessage): Promise<unknown> {
  const { statusCode: status = 0 } = response;
  const text = await bounded(response as AsyncIterable<Uint8Array>, endpoint);
  const value = parsed(text);
  if (status === 200 && value !== undefined) return value;
  throw refusalIn(endpoint, status, value);
}

/** Returns the fault for an answer that is not a success. */
export function refusalIn(endpoint: string, status: number, value: unknown): EtcdFault {
  const { code = 0, message = "" } = ErrorAnswer.safeParse(value).data ?? {};
  return faultOf({ endpoint, status, code, message: message.slice(0, 200).replace(/[^\x20-\x7e]/g, "?") });
}

/** Reads a whole answer. Throws EtcdFault if it is larger than any answer of etcd can be. */
export async function bounded(body: AsyncIterable<Uint8Array>, endpoint: string): Promise<string> {
  const decoder = new TextDecoder();
  let text = "";
  for await (const chunk of body) {
    text += decoder.decode(chunk, { stream: true });
    if (text.length > largestAnswer) {
      throw new EtcdFault("Odd", `"${endpoint}" sent a response of more than ${largestAnswer} bytes`);
    }
  }
  return text;
}

/** Returns the parsed JSON; undefined for any other text. */
export function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined; // such as an error page of a proxy
  }
}
