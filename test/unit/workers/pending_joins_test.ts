import { deepEqual, ok } from "node:assert/strict";
import { setTimeout as pause } from "node:timers/promises";
import type { Verdict } from "../../../activities/node/approve_node.ts";
import type { NodeRequest } from "../../../activities/node/node_requests.ts";
import { PendingJoins } from "../../../workers/pending_joins.ts";
import { eventually } from "../../support/eventually.ts";

const log = { info: () => {}, warn: () => {} };
const left: Verdict = { is: "Left", why: "waiting for the node of no machine" };

function requestOf(username: string, nth: number): NodeRequest {
  return { name: `${username}-${nth}`, resourceVersion: "1", username, groups: [], isDecided: false };
}

/** Starts PendingJoins, which checks certificate requests with `judge` until the result is disposed of. */
function waiting(judge: (request: NodeRequest) => Promise<Verdict>): PendingJoins & AsyncDisposable {
  const stop = new AbortController();
  const pending = new PendingJoins({ judge, log, firstPause: 1 });
  const running = pending.run(stop.signal);
  return Object.assign(pending, {
    [Symbol.asyncDispose]: async () => {
      stop.abort();
      await running;
    },
  });
}

Deno.test("PendingJoins: checks a valid request while another client sends invalid ones without end", async () => {
  const judged = new Set<string>();
  await using pending = waiting(async (request) => {
    judged.add(request.name);
    await pause(5);
    return request.username === "good" ? { is: "Approved" } : left;
  });
  for (let nth = 0; nth < 10_000; nth++) pending.put(`bad-${nth}`, requestOf("bad", nth));
  await eventually("checks of 100 invalid requests", () => judged.size >= 100);
  pending.put("good-0", requestOf("good", 0));
  const before = judged.size;
  await eventually("the valid request to be checked", () => judged.has("good-0"));
  ok(judged.size - before < 100, `Checked ${judged.size - before} requests before the valid one`);
});

Deno.test("PendingJoins: checks all requests of a client except a deleted one, although it remembers only some of them at a time", async () => {
  const judged = new Set<string>();
  await using pending = waiting((request) => {
    judged.add(request.name);
    return Promise.resolve({ is: "Approved" });
  });
  for (let nth = 0; nth < 2_500; nth++) pending.put(`bad-${nth}`, requestOf("bad", nth));
  pending.put("bad-2400", undefined);
  await eventually("all except the deleted one", () => judged.size === 2_499);
  deepEqual(judged.has("bad-2400"), false);
});

Deno.test("PendingJoins: checks a valid request of a client with 1,200 other requests, and rechecks the others while they stay pending", async () => {
  const judged = new Map<string, number>();
  await using pending = waiting(({ name }) => {
    judged.set(name, (judged.get(name) ?? 0) + 1);
    return Promise.resolve(name === "shared-good" ? { is: "Approved" } : left);
  });
  for (let nth = 0; nth < 1_200; nth++) pending.put(`bad-${nth}`, requestOf("shared", nth));
  pending.put("good", { ...requestOf("shared", 0), name: "shared-good" });
  await eventually("the valid request to be checked", () => judged.has("shared-good"));
  const isAgain = (): boolean =>
    judged.size === 1_201 && [...judged].every(([name, times]) => name === "shared-good" || times > 4);
  await eventually("all others to be checked again", isAgain);
});

Deno.test("PendingJoins: checks requests of other clients during a slow check", async () => {
  const judged: string[] = [];
  const slow = Promise.withResolvers<Verdict>();
  await using pending = waiting((request) => {
    judged.push(request.name);
    return request.username === "slow" ? slow.promise : Promise.resolve({ is: "Approved" });
  });
  pending.put("slow-0", requestOf("slow", 0));
  await eventually("the slow one", () => judged.length === 1);
  for (let nth = 0; nth < 50; nth++) pending.put(`good-${nth}`, requestOf("good", nth));
  await eventually("all others", () => judged.length === 51);
  slow.resolve({ is: "Approved" });
});
