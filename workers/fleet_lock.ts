/**
 * Serves the FleetLock protocol (zincati, "FleetLock protocol"): a node that updates itself asks before it reboots, and gives
 * its place back afterwards. What is asked is noted on the Node; the run of its pool grants it, once there is room, by its
 * policy, and once the node is drained. Nothing is kept here: each worker answers for all.
 */
import type { Logger } from "@temporalio/common";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { setTimeout as pause } from "node:timers/promises";
import { z } from "zod";
import type { LockClient, RebootLocks } from "../activities/backends/contract.ts";

export interface FleetLock {
  host: string;
  /** 0 serves nothing. */
  port: number;
  locks: RebootLocks;
  log: Pick<Logger, "warn">;
  /** Counts what was answered, by one word. */
  count?: (outcome: string) => void;
  /** Milliseconds: how long one waits for its place, and how often it is looked at. */
  patience?: { wait: number; look: number };
}

/** Less than Zincati waits for an answer (30 min). */
const usualPatience = { wait: 25 * 60_000, look: 2_000 };
const largest = 4096;

const Body = z.strictObject({
  client_params: z.strictObject({
    id: z.string().regex(/^[0-9a-fA-F-]{32,36}$/),
    group: z.string().max(63).regex(/^[a-zA-Z0-9.-]+$/),
  }),
});

/** What is told a client: 200 and nothing, or a kind of few and a sentence. */
type Answer = { code: 200 } | { code: number; kind: string; value: string };

/** Listens for nodes that ask. */
export function serveFleetLock(deps: FleetLock): Server | undefined {
  if (deps.port === 0) return undefined;
  const server = createServer((request, response) => {
    void answer(deps, request, response).catch((error: unknown) => {
      deps.log.warn("Failed to answer a FleetLock request; the node retries", { error });
      send(response, { code: 500, kind: "failed_lock", value: "the cluster could not be reached" });
    });
  });
  server.requestTimeout = 30_000;
  return server.listen(deps.port, deps.host);
}

async function answer(deps: FleetLock, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const said = await judged(deps, request, response);
  deps.count?.(said.code === 200 ? "granted" : "kind" in said ? said.kind : "failed");
  send(response, said);
}

async function judged(deps: FleetLock, request: IncomingMessage, response: ServerResponse): Promise<Answer> {
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

/** Waits for its place; one that goes away keeps its turn, as that stands on its Node. */
async function granted(
  { locks, patience = usualPatience }: FleetLock,
  node: string,
  response: ServerResponse,
): Promise<Answer> {
  const end = Date.now() + patience.wait;
  for (;;) {
    const state = await locks.stateOf(node);
    if (state === "Missing") {
      return { code: 409, kind: "failed_lock", value: "the request was withdrawn, or the node is gone" };
    }
    if (state === "Granted") return { code: 200 };
    if (Date.now() >= end || response.destroyed) {
      return { code: 409, kind: "failed_lock", value: "no slot is free yet; the request stays queued, retry later" };
    }
    await pause(Math.min(patience.look, Math.max(1, end - Date.now())));
  }
}

/** What a request says; undefined for what is no such body, or too long for one. */
async function clientIn(request: IncomingMessage): Promise<LockClient | undefined> {
  let text = "";
  for await (const chunk of request) {
    text += String(chunk);
    if (text.length > largest) return undefined;
  }
  try {
    return Body.safeParse(JSON.parse(text)).data?.client_params;
  } catch {
    return undefined; // no JSON is no such body
  }
}

function send(response: ServerResponse, said: Answer): void {
  if (response.headersSent || response.destroyed) return;
  if (said.code === 200) return void response.writeHead(200).end();
  const { code, ...body } = said;
  response.writeHead(code, { "content-type": "application/json" }).end(JSON.stringify(body));
}
