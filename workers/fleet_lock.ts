/**
 * Serves the FleetLock protocol (zincati, "FleetLock protocol"): a node that updates itself requests a lock before its
 * reboot, and releases the lock afterwards. Requests are recorded on the Node; the run of its pool grants the lock when
 * its policy allows another node and the node is drained. Each worker answers all requests, because the Node has all
 * that they need.
 */
import type { Logger } from "@temporalio/common";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { setTimeout as pause } from "node:timers/promises";
import { z } from "zod";
import type { LockClient, RebootLocks } from "../activities/backends/contract.ts";

export interface FleetLock {
  host: string;
  /** 0 disables the server. */
  port: number;
  locks: RebootLocks;
  log: Pick<Logger, "warn">;
  /** Counts answers by outcome. */
  count?: (outcome: string) => void;
  /** Milliseconds: the longest wait of a request, and the interval of reads. */
  patience?: { wait: number; look: number };
}

/** Shorter than the wait of Zincati for an answer (30 min). */
const usualPatience = { wait: 25 * 60_000, look: 2_000 };
const largest = 4096;

/**
 * Ends the wait of a node's request, by node. Only one request of a node waits, because a compromised node could
 * otherwise fill the memory of the worker.
 */
type Waiting = Map<string, AbortController>;

const Body = z.strictObject({
  client_params: z.strictObject({
    id: z.string().regex(/^[0-9a-fA-F-]{32,36}$/),
    group: z.string().max(63).regex(/^[a-zA-Z0-9.-]+$/),
  }),
});

type Serving = FleetLock & { waiting: Waiting };

/** The answer to a client: 200 without a body, or an error with its kind and a sentence. */
type Answer = { code: 200 } | { code: number; kind: string; value: string };

/** Listens for requests of nodes; returns undefined if disabled. */
export function serveFleetLock(deps: FleetLock): Server | undefined {
  if (deps.port === 0) return undefined;
  const serving: Serving = { ...deps, waiting: new Map() };
  const server = createServer((request, response) => {
    void answer(serving, request, response).catch((error: unknown) => {
      deps.log.warn("Failed to answer a FleetLock request; the node retries", { error });
      send(response, { code: 500, kind: "failed_lock", value: "the cluster could not be reached" });
    });
  });
  server.requestTimeout = 30_000;
  return server.listen(deps.port, deps.host);
}

async function answer(deps: Serving, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const said = await judged(deps, request, response);
  deps.count?.(said.code === 200 ? "granted" : "kind" in said ? said.kind : "failed");
  send(response, said);
}

async function judged(deps: Serving, request: IncomingMessage, response: ServerResponse): Promise<Answer> {
  const { method, url = "", headers } = request;
  const verb = /^\/v1\/(pre-reboot|steady-state)$/.exec(url)?.[1];
  if (!verb) {
    return { code: 404, kind: "unknown_endpoint", value: "unknown path; use /v1/pre-reboot or /v1/steady-state" };
  }
  if (method !== "POST" || headers["fleet-lock-protocol"] !== "true") {
    return { code: 400, kind: "bad_request", value: "a POST with header fleet-lock-protocol: true is required" };
  }
  const client = await clientIn(request);
  if (!client) return { code: 400, kind: "bad_request", value: "client_params with id and group are required" };
  const isDone = verb === "steady-state";
  const found = await (isDone ? deps.locks.release(client) : deps.locks.request(client));
  if ("kind" in found) return { code: 400, kind: found.kind, value: found.message };
  return isDone ? { code: 200 } : await granted(deps, found.node, response);
}

/**
 * Waits until the lock is granted, or until a newer request of the node waits instead. A client that disconnects keeps
 * its place in the queue, which is recorded on the Node.
 */
async function granted(deps: Serving, node: string, response: ServerResponse): Promise<Answer> {
  const own = new AbortController();
  deps.waiting.get(node)?.abort();
  deps.waiting.set(node, own);
  try {
    return await waited(deps, node, { response, signal: own.signal });
  } finally {
    if (deps.waiting.get(node) === own) deps.waiting.delete(node);
  }
}

async function waited(
  { locks, patience = usualPatience }: Serving,
  node: string,
  { response, signal }: { response: ServerResponse; signal: AbortSignal },
): Promise<Answer> {
  const end = Date.now() + patience.wait;
  for (;;) {
    const state = await locks.stateOf(node);
    if (state === "Missing") {
      return { code: 409, kind: "failed_lock", value: "the request was withdrawn, or the Node was deleted" };
    }
    if (state === "Granted") return { code: 200 };
    if (signal.aborted) {
      return { code: 409, kind: "failed_lock", value: "a newer request of this node waits; the node stays queued" };
    }
    if (Date.now() >= end || response.destroyed) {
      return { code: 409, kind: "failed_lock", value: "no slot is free yet; the request stays queued, retry later" };
    }
    const left = Math.min(patience.look, Math.max(1, end - Date.now()));
    await pause(left, undefined, { signal }).catch(() => undefined); // rejects when a newer request waits
  }
}

/** Returns the client of a request; undefined for a body that is invalid or too long. */
async function clientIn(request: IncomingMessage): Promise<LockClient | undefined> {
  let text = "";
  for await (const chunk of request) {
    text += String(chunk);
    if (text.length > largest) return undefined;
  }
  try {
    return Body.safeParse(JSON.parse(text)).data?.client_params;
  } catch {
    return undefined; // not JSON
  }
}

function send(response: ServerResponse, said: Answer): void {
  if (response.headersSent || response.destroyed) return;
  if (said.code === 200) return void response.writeHead(200).end();
  const { code, ...body } = said;
  response.writeHead(code, { "content-type": "application/json" }).end(JSON.stringify(body));
}
