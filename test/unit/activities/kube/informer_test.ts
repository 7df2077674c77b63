import { deepEqual, equal } from "node:assert/strict";
import { z } from "zod";
import { Informer } from "../../../../activities/kube/informer.ts";
import type { GroupedResource, Resource } from "../../../../activities/kube/resources.ts";
import { eventually } from "../../../support/eventually.ts";
import { FakeKube } from "../../../support/fake_kube.ts";
import { FakeStreams } from "../../../support/fake_streams.ts";
import { WatchedApi } from "../../../support/watched_api.ts";

const path = "/api/v1/nodes";
/** Reads only the provider ID of a node. */
const nodes: Resource<string> = {
  ...{ group: "", version: "v1", plural: "nodes" },
  schema: z.object({ spec: z.object({ providerID: z.string() }) }).transform(({ spec }) => spec.providerID),
};

/** An informer of nodes with its reported changes; disposing of it ends its watch. */
function watching(api: WatchedApi): { informer: Informer<string>; told: string[]; [Symbol.dispose]: () => void } {
  const told: string[] = [];
  const stop = new AbortController();
  const informer: Informer<string> = new Informer(nodes, {
    kube: api.kube,
    onChange: (key, before) => told.push(`${key}: ${before} to ${informer.get(key)}`),
    log: { warn: () => {} },
    signal: stop.signal,
  });
  return { informer, told, [Symbol.dispose]: () => stop.abort() };
}

function node(name: string, providerID: unknown): { metadata: { name: string }; spec: object } {
  return { metadata: { name }, spec: { providerID } };
}

Deno.test("Informer.start: reads every page of a list before it resolves", async () => {
  await using api = await WatchedApi.start();
  api.pageSize = 2;
  for (const name of ["a", "b", "c", "d", "e"]) api.put(path, node(name, "red"));
  using watched = watching(api);
  await watched.informer.start();
  deepEqual(watched.informer.keys(), ["a", "b", "c", "d", "e"]);
  deepEqual(api.lists.map((list) => new URLSearchParams(list.split("?")[1]).get("continue")), [null, "2", "4"]);
});

Deno.test("Informer: reports changes of the fields that are read, and no other updates", async () => {
  await using api = await WatchedApi.start();
  api.put(path, node("a", "red"));
  using watched = watching(api);
  await watched.informer.start();
  await eventually("a watch", () => api.watches(path) === 1);
  api.put(path, node("a", "red"));
  api.put(path, node("a", "blue"));
  await eventually("two notices", () => watched.told.length >= 2);
  api.remove(path, node("a", "blue"));
  await eventually("three notices", () => watched.told.length >= 3);
  deepEqual(watched.told, ["a: undefined to red", "a: red to blue", "a: blue to undefined"]);
});

Deno.test("fault E12 Informer.group: returns the objects with a given group key, also after objects were changed, added or removed", async () => {
  await using api = await WatchedApi.start();
  for (const [name, colour] of [["a", "red"], ["b", "blue"], ["c", "red"], ["d", ""]] as const) {
    api.put(path, node(name, colour));
  }
  const coloured: GroupedResource<string> = { ...nodes, groupsOf: (colour) => ({ colour }) };
  const stop = new AbortController();
  const informer = new Informer(coloured, { kube: api.kube, log: { warn: () => {} }, signal: stop.signal });
  await informer.start();
  deepEqual(informer.group("colour", "red"), [["a", "red"], ["c", "red"]]);
  await eventually("a watch", () => api.watches(path) === 1);
  api.put(path, node("a", "blue"));
  api.remove(path, node("c", "red"));
  api.put(path, node("e", "green"));
  await eventually("the changes", () => informer.get("e") === "green");
  const groups = ["red", "blue", "green", ""].map((colour) => informer.group("colour", colour).map(([key]) => key));
  deepEqual(groups, [[], ["b", "a"], ["e"], []]);
  stop.abort();
});

Deno.test("Informer: keeps the last valid version of an object that became invalid", async () => {
  await using api = await WatchedApi.start();
  api.put(path, node("a", "red"));
  using watched = watching(api);
  await watched.informer.start();
  await eventually("a watch", () => api.watches(path) === 1);
  api.put(path, node("a", 7));
  api.put(path, node("b", "green"));
  await eventually("node b", () => watched.informer.get("b") === "green");
  equal(watched.informer.get("a"), "red");
});

Deno.test("Informer: ignores an object for which the schema throws, in a list and in an event", async () => {
  await using api = await WatchedApi.start();
  api.put(path, node("a", "black"));
  api.put(path, node("b", "red"));
  const warnings: string[] = [];
  const schema = nodes.schema.transform((colour) => {
    if (colour === "black") throw new RangeError("not a colour");
    return colour;
  });
  const stop = new AbortController();
  const log = { warn: (text: string) => void warnings.push(text) };
  const informer = new Informer({ ...nodes, schema }, { kube: api.kube, log, signal: stop.signal });
  void informer.start();
  await eventually("the list", () => informer.get("b") === "red");
  equal(informer.get("a"), undefined);
  await eventually("a watch", () => api.watches(path) === 1);
  api.put(path, node("b", "black"));
  api.put(path, node("c", "green"));
  await eventually("node c", () => informer.get("c") === "green");
  stop.abort();
  const ignored = (name: string): string =>
    `Failed to read nodes "${name}": a field has an unexpected value; ignoring this version of the object`;
  deepEqual([informer.get("b"), warnings], ["red", [ignored("a"), ignored("b")]]);
});

Deno.test("Informer.start: ends when it is stopped before a list succeeds", async () => {
  const api = await WatchedApi.start();
  const { kube } = api;
  await api[Symbol.asyncDispose]();
  const stop = new AbortController();
  const log = { warn: () => stop.abort() };
  await new Informer(nodes, { kube, onChange: () => {}, log, signal: stop.signal }).start();
  equal(stop.signal.aborted, true);
  await new Informer(nodes, { kube, onChange: () => {}, log, signal: stop.signal }).start();
});

function streamed(): { streams: FakeStreams; informer: Informer<string>; [Symbol.dispose]: () => void } {
  const kube = new FakeKube();
  kube.put("nodes", node("a", "red"));
  const streams = new FakeStreams(kube);
  const stop = new AbortController();
  const informer = new Informer(nodes, { kube: streams.client, signal: stop.signal });
  return { streams, informer, [Symbol.dispose]: () => stop.abort() };
}

Deno.test("Informer: resumes from its resource version when a stream ends, and lists again only when that version has expired", async () => {
  using watched = streamed();
  const { streams, informer } = watched;
  await informer.start();
  await eventually("a stream", () => informer.isFresh);
  streams.end("nodes");
  await eventually("another stream", () => streams.opened.length === 2);
  deepEqual(streams.requests, ["list nodes "]);
  streams.end("nodes", Object.assign(new Error("HTTP 410"), { statusCode: 410 }));
  await eventually("a third stream", () => streams.opened.length === 3);
  deepEqual(streams.requests, ["list nodes ", "list nodes "]);
});

Deno.test("Informer: keeps its resource version while the API server is down, and is not fresh until another stream is open", async () => {
  using watched = streamed();
  const { streams, informer } = watched;
  await informer.start();
  await eventually("a stream", () => informer.isFresh);
  streams.isDown = true;
  streams.end("nodes", new DOMException("no event for too long", "TimeoutError"));
  equal(informer.isFresh, false);
  streams.isDown = false;
  await eventually("another stream", () => informer.isFresh);
  deepEqual([streams.requests.length, informer.get("a")], [1, "red"]);
});

Deno.test("Informer: is not fresh 15 s after its stream broke, although the wall clock is set back", async () => {
  using watched = streamed();
  const { streams, informer } = watched;
  await informer.start();
  await eventually("a stream", () => informer.isFresh);
  streams.isDown = true;
  streams.end("nodes", new Error("connection reset"));
  await eventually("tries to open another", () => streams.refused >= 1);
  equal(informer.isFresh, true);
  const { now } = Date;
  const monotonic = performance.now.bind(performance);
  try {
    Date.now = () => now() - 3_600_000;
    performance.now = () => monotonic() + 16_000;
    equal(informer.isFresh, false);
  } finally {
    Date.now = now;
    performance.now = monotonic;
  }
});

Deno.test("Informer: is not fresh while a broken stream cannot be opened again", async () => {
  using watched = streamed();
  const { streams, informer } = watched;
  await informer.start();
  await eventually("a stream", () => informer.isFresh);
  streams.isDown = true;
  streams.end("nodes", new DOMException("no event for too long", "TimeoutError"));
  await eventually("tries to open another", () => streams.refused >= 2);
  equal(informer.isFresh, false);
});
