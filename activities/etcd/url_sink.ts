/** Stores snapshots on a server that accepts files by PUT, such as an object store. */
import http, { type IncomingMessage } from "node:http";
import https from "node:https";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { ApplicationFailure, CancelledFailure } from "@temporalio/common";
import { denied, refused, unavailable } from "../failures.ts";
import { calledOff } from "./exchange.ts";
import { EtcdFault } from "./fault.ts";
import { isConfidential } from "../policy/plain_url.ts";
import type { SnapshotSink } from "./snapshot.ts";

interface UrlSinkOptions {
  /** Token that is sent as `Authorization: Bearer`, only over https or to localhost. */
  token?: string;
  /** PEM of the server's CA; default: the CAs of the system. */
  ca?: string;
  /** Maximum milliseconds without progress; default one minute. */
  idleMs?: number;
}

/**
 * Returns a sink that sends each snapshot to `<url>/<name>` by PUT, without following redirects. The server must
 * discard incomplete requests.
 */
export function urlSink(url: string, options: UrlSinkOptions = {}): SnapshotSink {
  const root = rootOf(url, options);
  return {
    async write(name, bytes): Promise<void> {
      const target = new URL(root);
      target.pathname = `${root.pathname.replace(/\/+$/, "")}/${encodeURIComponent(name)}`;
      const status = await put(target, bytes, options);
      const attempt = `store etcd snapshot "${name}" at "${target.origin}"`;
      if (status === 401 || status === 403) throw denied(`Failed to ${attempt}: HTTP ${status}`);
      if (status < 200 || status > 299) throw unavailable(`Failed to ${attempt}: HTTP ${status}`);
    },
  };
}

function rootOf(text: string, { token }: UrlSinkOptions): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  const unfit = (state: string) => refused("ObjectInvalid", `Failed to store etcd snapshots at a URL: ${state}`);
  if (url?.protocol !== "https:" && url?.protocol !== "http:") throw unfit("expected an http or https URL");
  if (url.username !== "" || url.password !== "") throw unfit("the URL contains credentials; use a token instead");
  if (token !== undefined && !isConfidential(url)) {
    throw unfit(`a token is only sent over TLS; use https for "${url.origin}"`);
  }
  return url;
}

async function put(url: URL, bytes: AsyncIterable<Uint8Array>, options: UrlSinkOptions): Promise<number> {
  const called = calledOff(undefined);
  const idle = new AbortController();
  const timer = setTimeout(() => idle.abort(), options.idleMs ?? 60_000);
  const { request, answer } = begin(url, options, AbortSignal.any([idle.signal, ...called]));
  try {
    await pipeline(Readable.from(watched(bytes, timer), { objectMode: true }), request);
    return (await answer).statusCode ?? 0;
  } catch (error) {
    for (const signal of called) signal.throwIfAborted();
    if (isTold(error)) throw error;
    const code = error instanceof Error && "code" in error ? ` (${String(error.code)})` : "";
    const state = idle.signal.aborted ? "the server stopped receiving" : `the connection broke${code}`;
    throw unavailable(`Failed to send an etcd snapshot to "${url.origin}": ${state}`);
  } finally {
    clearTimeout(timer);
    request.destroy();
  }
}

async function* watched(bytes: AsyncIterable<Uint8Array>, timer: NodeJS.Timeout): AsyncGenerator<Uint8Array> {
  for await (const piece of bytes) {
    yield piece;
    timer.refresh();
  }
}

function begin(
  url: URL,
  { token, ca }: UrlSinkOptions,
  signal: AbortSignal,
): { request: http.ClientRequest; answer: Promise<IncomingMessage> } {
  const { promise: answer, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  answer.catch(() => undefined); // `put` awaits the answer after the last byte, and throws its error
  const headers = {
    "content-type": "application/octet-stream",
    ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
  };
  const isSecure = url.protocol === "https:";
  const agent = isSecure ? new https.Agent({ keepAlive: false }) : new http.Agent({ keepAlive: false });
  const request = (isSecure ? https : http).request(url, {
    ...{ method: "PUT", headers, agent, signal },
    ...(ca === undefined ? {} : { ca }),
  }, (response) => {
    response.resume();
    resolve(response);
  });
  request.on("error", reject);
  return { request, answer };
}

// Returns whether the error came from the source of the bytes, such as etcd, and not from the server that stores them.
function isTold(error: unknown): boolean {
  return error instanceof EtcdFault || error instanceof ApplicationFailure || error instanceof CancelledFailure;
}
