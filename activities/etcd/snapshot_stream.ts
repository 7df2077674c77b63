/**
 * The pieces of a snapshot that a member sends: lines of JSON, each with 32 KiB of data and the number of bytes that
 * remain.
 *
 * Uses `fetch`, because a response of `node:https` buffers everything while the reader is slow (500 MiB, measured with
 * Deno 2.9). `fetch` also trusts the system's CAs, so callers first send a request that trusts only the configured CA.
 */
import { Buffer } from "node:buffer";
import { SnapshotLine } from "./answers.ts";
import { bounded, calledOff, parsed, type Question, refusalIn } from "./exchange.ts";
import { brokenFault, EtcdFault } from "./fault.ts";

export interface SnapshotPiece {
  bytes: Uint8Array;
  /** Remaining bytes of the database, as the member reports them. */
  remaining: number;
}

/** Maximum characters of a line; the lines of etcd are far shorter. */
const longestLine = 1_000_000;
/** Maximum bytes of a snapshot: twice the size that etcd is designed for. */
const largestSnapshot = 16 * 1024 ** 3;

type Stream = Pick<Question, "endpoint" | "credentials"> & { idleMs?: number };

/** Yields the pieces in order; throws EtcdFault after a minute in which no piece arrives or none is consumed. */
export async function* snapshotPieces(
  { endpoint, credentials, idleMs = 60_000 }: Stream,
): AsyncGenerator<SnapshotPiece> {
  const idle = new AbortController();
  const timer = setTimeout(() => idle.abort(), idleMs);
  const called = calledOff(undefined);
  using client = clientWith(credentials);
  try {
    const ends = AbortSignal.any([idle.signal, ...called]);
    const body = await begin({ endpoint, client, signal: ends });
    for await (const line of linesOf(endingWith(ends, body), endpoint)) {
      yield pieceIn(line, endpoint);
      timer.refresh();
    }
  } catch (error) {
    for (const signal of called) signal.throwIfAborted();
    if (error instanceof EtcdFault) throw error;
    const state = `"${endpoint}" sent no data for ${idleMs / 1000} s, or its data was not read for as long`;
    throw idle.signal.aborted ? new EtcdFault("Silent", state) : brokenFault(endpoint, error);
  } finally {
    clearTimeout(timer);
  }
}

function clientWith({ ca, cert, key }: Question["credentials"]): Deno.HttpClient {
  return Deno.createHttpClient({ caCerts: [ca], cert, key, http2: false, poolMaxIdlePerHost: 0 });
}

async function begin(
  { endpoint, client, signal }: { endpoint: string; client: Deno.HttpClient; signal: AbortSignal },
): Promise<ReadableStream<Uint8Array>> {
  const order = { method: "POST", headers: { "content-type": "application/json" }, body: "{}" };
  const response = await fetch(new URL("/v3/maintenance/snapshot", endpoint), {
    ...order,
    ...{ client, signal, redirect: "manual" },
  });
  const body = response.body ?? new ReadableStream<Uint8Array>({ start: (none) => none.close() });
  if (response.status === 200) return body;
  const value = parsed(await bounded(body, endpoint)) as { error?: unknown } | undefined;
  throw refusalIn(endpoint, response.status, value?.error);
}

/**
 * Yields the chunks of a body, and cancels the body when the signal aborts. In Deno 2.9 the signal that `fetch` was
 * given no longer aborts the body once the Response is garbage collected, which may happen in the middle of the stream.
 */
async function* endingWith(signal: AbortSignal, body: ReadableStream<Uint8Array>): AsyncGenerator<Uint8Array> {
  const reader = body.getReader();
  const end = (): void => void reader.cancel(signal.reason).catch(() => undefined);
  signal.addEventListener("abort", end, { once: true });
  try {
    signal.throwIfAborted();
    for (let { done, value } = await reader.read(); !done; { done, value } = await reader.read()) {
      if (value) yield value;
    }
    signal.throwIfAborted();
  } finally {
    signal.removeEventListener("abort", end);
    await reader.cancel().catch(() => undefined);
  }
}

async function* linesOf(body: AsyncIterable<Uint8Array>, endpoint: string): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  let size = 0;
  let open = "";
  for await (const chunk of body) {
    const [first = "", ...more] = decoder.decode(chunk, { stream: true }).split("\n");
    open += first;
    for (const next of more) {
      if (open !== "") yield open;
      open = next;
    }
    size += chunk.length;
    if (open.length > longestLine || size > 2 * largestSnapshot) {
      throw new EtcdFault("Odd", `"${endpoint}" sends more than the largest possible snapshot`);
    }
  }
  if (open !== "") yield open;
}

function pieceIn(line: string, endpoint: string): SnapshotPiece {
  const read = SnapshotLine.safeParse(parsed(line)).data;
  if (read && "error" in read) throw refusalIn(endpoint, 200, read.error);
  if (!read) throw new EtcdFault("Odd", `"${endpoint}" sends data that is not part of a snapshot`);
  return { bytes: Buffer.from(read.result.blob, "base64"), remaining: read.result.remaining_bytes };
}
