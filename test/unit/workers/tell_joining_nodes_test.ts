import { deepEqual } from "node:assert/strict";
import { tellJoiningNodes } from "../../../workers/tell_joining_nodes.ts";
import { eventually } from "../../support/eventually.ts";
import { WatchedApi } from "../../support/watched_api.ts";

const path = "/apis/update.edgeless.systems/v1alpha1/joiningnodes";
const nodes = "/api/v1/nodes";
const creationTimestamp = new Date().toISOString();

function record(name: string, uid: string, spec: object = {}): Parameters<WatchedApi["put"]>[1] {
  return { metadata: { name, uid, creationTimestamp }, spec: { name, componentsreference: "c", ...spec } };
}

function node(name: string, status = "True"): Parameters<WatchedApi["put"]>[1] {
  return { metadata: { name, creationTimestamp }, status: { conditions: [{ type: "Ready", status }] } };
}

/**
 * Sends a signal with `admit` for each due JoiningNode until disposed of; a signal fails if `admit` returns an error.
 */
function telling(
  api: WatchedApi,
  admit: (name: string) => Error | undefined,
  retellAfter = 60_000,
): { said: string[]; [Symbol.asyncDispose]: () => Promise<void> } {
  const stop = new AbortController();
  const said: string[] = [];
  const told = tellJoiningNodes({
    kube: api.kube,
    tell: (name) => {
      const fault = admit(name);
      return fault ? Promise.reject(fault) : Promise.resolve();
    },
    log: { warn: (text: string) => void said.push(text) },
    every: { lookEvery: 5, retellAfter },
  }, stop.signal);
  return {
    said,
    [Symbol.asyncDispose]: async () => {
      stop.abort();
      await told;
    },
  };
}

Deno.test("tellJoiningNodes: signals a JoiningNode when its node appears or becomes Ready, and when the JoiningNode is recreated", async () => {
  await using api = await WatchedApi.start();
  const asked: string[] = [];
  for (let nth = 0; nth < 2_000; nth++) api.put(path, record(`never-${nth}`, `${nth}`));
  api.put(path, record("a", "a1"));
  await using _ = telling(api, (name) => void asked.push(name));
  await eventually("watches", () => api.watches(path) === 1 && api.watches(nodes) === 1);
  api.put(nodes, node("a", "False"));
  await eventually("the node", () => asked.length === 1);
  api.put(nodes, node("a"));
  await eventually("that it is Ready", () => asked.length === 2);
  api.put(path, record("a", "a2"));
  await eventually("the record made anew", () => asked.length === 3);
  deepEqual(asked, ["a", "a", "a"]);
});

Deno.test("tellJoiningNodes: signals a JoiningNode when its deadline has passed", async () => {
  await using api = await WatchedApi.start();
  const asked: string[] = [];
  api.put(path, record("late", "1", { deadline: new Date(Date.now() + 300).toISOString() }));
  await using _ = telling(api, (name) => void asked.push(name));
  await eventually("the signal after the deadline", () => asked.length === 1);
});

const past = { deadline: new Date(0).toISOString() };

Deno.test("tellJoiningNodes: applies the default deadline to a JoiningNode with an unreadable one, and signals the others", async () => {
  await using api = await WatchedApi.start();
  const asked: string[] = [];
  // The API server accepts this time as a `date-time`, although its zone does not exist.
  const unreadable = { deadline: "2026-01-01T10:00:00+99:99" };
  const old = record("old", "1", unreadable);
  api.put(path, { ...old, metadata: { ...old.metadata, creationTimestamp: "2026-01-01T10:00:00Z" } });
  api.put(path, record("due", "2", past));
  await using _ = telling(api, (name) => void asked.push(name));
  await eventually("a watch", () => api.watches(path) === 1);
  api.put(path, record("new", "3", unreadable));
  api.put(path, record("later", "4", past));
  await eventually("three signals", () => asked.length === 3);
  deepEqual(asked.toSorted(), ["due", "later", "old"]);
});

Deno.test("tellJoiningNodes: retries a failed signal, and logs the retry", async () => {
  await using api = await WatchedApi.start();
  const asked: string[] = [];
  api.put(path, record("a", "1", past));
  await using told = telling(api, (name) => asked.push(name) < 3 ? new Error("away") : undefined);
  await eventually("the third try", () => asked.length === 3);
  deepEqual([...new Set(told.said)], ['Failed to signal workflow for joining node "a"; retrying']);
});

Deno.test("tellJoiningNodes: repeats the signal for a JoiningNode past its deadline, because its run may have been terminated", async () => {
  await using api = await WatchedApi.start();
  const asked: string[] = [];
  api.put(path, record("a", "1", past));
  await using _ = telling(api, (name) => void asked.push(name), 30);
  await eventually("a second time", () => asked.length >= 2);
});
