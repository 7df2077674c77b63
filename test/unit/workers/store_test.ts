import { deepEqual, equal } from "node:assert/strict";
import { z } from "zod";
import type { Resource } from "../../../activities/kube/resources.ts";
import { Store } from "../../../workers/store.ts";
import { eventually } from "../../support/eventually.ts";
import { WatchedApi } from "../../support/watched_api.ts";

const path = "/api/v1/nodes";
/** Of a node nothing but its provider id is read. */
const nodes: Resource<string> = {
  ...{ group: "", version: "v1", plural: "nodes" },
  schema: z.object({ spec: z.object({ providerID: z.string() }) }).transform(({ spec }) => spec.providerID),
};

/** A store of nodes, with what it told; disposing of it ends its watch. */
function watching(api: WatchedApi): { store: Store<string>; told: string[]; [Symbol.dispose]: () => void } {
  const told: string[] = [];
  const stop = new AbortController();
  const store: Store<string> = new Store(api.config, nodes, {
    onChange: (key, before) => told.push(`${key}: ${before} to ${store.get(key)}`),
    log: { warn: () => {} },
    signal: stop.signal,
  });
  return { store, told, [Symbol.dispose]: () => stop.abort() };
}

function node(name: string, providerID: unknown): { metadata: { name: string }; spec: object } {
  return { metadata: { name }, spec: { providerID } };
}

Deno.test("Store.start reads every page of a list before it resolves", async () => {
  await using api = await WatchedApi.start();
  api.pageSize = 2;
  for (const name of ["a", "b", "c", "d", "e"]) api.put(path, node(name, "red"));
  using watched = watching(api);
  await watched.store.start();
  deepEqual(watched.store.keys(), ["a", "b", "c", "d", "e"]);
  deepEqual(api.lists.map((list) => new URLSearchParams(list.split("?")[1]).get("continue")), [null, "2", "4"]);
});

Deno.test("Store tells of what was read of an object, and not of an update without news", async () => {
  await using api = await WatchedApi.start();
  api.put(path, node("a", "red"));
  using watched = watching(api);
  await watched.store.start();
  await eventually("a watch", () => api.watches(path) === 1);
  api.put(path, node("a", "red"));
  api.put(path, node("a", "blue"));
  await eventually("two notices", () => watched.told.length >= 2);
  api.remove(path, node("a", "blue"));
  await eventually("three notices", () => watched.told.length >= 3);
  deepEqual(watched.told, ["a: undefined to red", "a: red to blue", "a: blue to undefined"]);
});

Deno.test("Store keeps what it last read of an object that cannot be read any more", async () => {
  await using api = await WatchedApi.start();
  api.put(path, node("a", "red"));
  using watched = watching(api);
  await watched.store.start();
  await eventually("a watch", () => api.watches(path) === 1);
  api.put(path, node("a", 7));
  api.put(path, node("b", "green"));
  await eventually("the next one", () => watched.store.get("b") === "green");
  equal(watched.store.get("a"), "red");
});

Deno.test("Store.start ends when it is stopped before anything could be listed", async () => {
  const api = await WatchedApi.start();
  const { config } = api;
  await api[Symbol.asyncDispose]();
  const stop = new AbortController();
  const log = { warn: () => stop.abort() };
  await new Store(config, nodes, { onChange: () => {}, log, signal: stop.signal }).start();
  equal(stop.signal.aborted, true);
  await new Store(config, nodes, { onChange: () => {}, log, signal: stop.signal }).start();
});
