import { deepEqual } from "node:assert/strict";
import { tellJoiningNodes } from "../../../workers/tell_joining_nodes.ts";
import { eventually } from "../../support/eventually.ts";
import { WatchedApi } from "../../support/watched_api.ts";

const path = "/apis/update.edgeless.systems/v1alpha1/joiningnodes";

function record(name: string, uid: string): { metadata: { name: string; uid: string } } {
  return { metadata: { name, uid } };
}

/** Tells at work; `admit` answers with what fails it, if anything. Disposing of it ends it. */
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

Deno.test("tellJoiningNodes tells of each record once, and again of one that was made anew", async () => {
  await using api = await WatchedApi.start();
  const asked: string[] = [];
  api.put(path, record("a", "1"));
  await using _ = telling(api, (name) => void asked.push(name));
  await eventually("the first", () => asked.length === 1 && api.watches(path) === 1);
  api.put(path, record("b", "2"));
  await eventually("the second", () => asked.length === 2);
  api.put(path, record("a", "3"));
  await eventually("the one made anew", () => asked.length === 3);
  deepEqual(asked, ["a", "b", "a"]);
});

Deno.test("tellJoiningNodes tries again what Temporal did not take, and says so", async () => {
  await using api = await WatchedApi.start();
  const asked: string[] = [];
  api.put(path, record("a", "1"));
  await using told = telling(api, (name) => asked.push(name) < 3 ? new Error("away") : undefined);
  await eventually("the third try", () => asked.length === 3);
  deepEqual([...new Set(told.said)], ['Cannot tell of joining node "a": it is tried again']);
});

Deno.test("tellJoiningNodes tells again of a record that stands long, as its run may have been terminated", async () => {
  await using api = await WatchedApi.start();
  const asked: string[] = [];
  api.put(path, record("a", "1"));
  await using _ = telling(api, (name) => void asked.push(name), 30);
  await eventually("a second time", () => asked.length >= 2);
});
