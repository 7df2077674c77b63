import type { Watch } from "@kubernetes/client-node";
import { deepEqual, equal } from "node:assert/strict";
import type { Kube } from "../../../../activities/kube/client.ts";
import { NodeWatch } from "../../../../activities/node/node_watch.ts";
import { eventually } from "../../../support/eventually.ts";
import { answer, FakeKube } from "../../../support/fake_kube.ts";
import { node } from "../../../support/machine_objects.ts";

type Handler = Parameters<Watch["watch"]>[2];

/** A stream that tests write to. */
class FakeStream {
  opened = 0;
  tell: Handler = () => {};
  end: (error: unknown) => void = () => {};

  watch(...[, , handler, done]: Parameters<Watch["watch"]>): Promise<AbortController> {
    this.opened += 1;
    [this.tell, this.end] = [handler, done];
    const controller = new AbortController();
    controller.signal.addEventListener("abort", () => done(null));
    return Promise.resolve(controller);
  }
}

interface Scene {
  kube: FakeKube;
  stream: FakeStream;
  watch: NodeWatch;
  /** Nodes that were read with a GET. */
  gets: string[];
}

const names = Array.from({ length: 30 }, (_, nth) => `n${nth}`);

function scene({ streams = true } = {}): Scene {
  const kube = new FakeKube();
  for (const name of names) kube.put("nodes", node(name));
  const gets: string[] = [];
  kube.onRequest = (request) => {
    if (request.startsWith("get nodes ")) gets.push(request.slice("get nodes ".length));
  };
  const stream = new FakeStream();
  const client: Kube = { ...kube.client, ...(streams ? { watch: stream as unknown as Watch } : {}) };
  return { kube, stream, watch: new NodeWatch(client), gets };
}

async function synced(): Promise<Scene> {
  const made = scene();
  await made.watch.find(names);
  await eventually("the watch", () => made.watch.isFresh);
  made.gets.length = 0;
  return made;
}

Deno.test("NodeWatch: reads each node of a small pool with a GET, and opens no watch", async () => {
  const { watch, stream, gets } = scene();
  const found = await watch.find(["n1", "n2", "missing"]);
  deepEqual([[...found.keys()], gets, stream.opened], [["n1", "n2"], ["n1", "n2", "missing"], 0]);
});

Deno.test("NodeWatch: reads the nodes of a large pool with GETs before its watch is synced", async () => {
  const { watch, gets } = scene();
  equal((await watch.find(names)).size, 30);
  equal(gets.length, 30);
});

Deno.test("NodeWatch: answers for a large pool without a request after its watch is synced", async () => {
  const { watch, gets } = await synced();
  equal((await watch.find(names)).get("n7")?.ready, true);
  deepEqual(gets, []);
});

Deno.test("NodeWatch: works without a watch when streams are unavailable", async () => {
  const { watch, gets } = scene({ streams: false });
  await watch.find(names);
  await watch.find(names);
  equal(gets.length, 60);
});

Deno.test("NodeWatch: opens a watch when many small pools are read", async () => {
  const { watch, stream } = scene();
  const now = Date.now();
  for (let pools = 0; pools < 15; pools++) await watch.find(names.slice(0, 20), now);
  equal(stream.opened, 0);
  for (let pools = 0; pools < 10; pools++) await watch.find(names.slice(0, 20), now);
  await eventually("the watch", () => stream.opened === 1);
});

Deno.test("NodeWatch: returns modified and added nodes from the events of its watch", async () => {
  const { watch, stream } = await synced();
  stream.tell("MODIFIED", { ...node("n1", { heard: false }) });
  stream.tell("ADDED", node("n99"));
  const found = await watch.find(["n1", "n99"]);
  deepEqual([found.get("n1")?.ready, found.get("n1")?.reachable, found.get("n99")?.ready], [false, false, true]);
});

Deno.test("NodeWatch: treats a node as deleted only when the API server confirms that", async () => {
  const { kube, watch, stream, gets } = await synced();
  kube.put("nodes", node("fresh"));
  kube.remove("nodes", "n1");
  stream.tell("DELETED", node("n1"));
  const found = await watch.find(["fresh", "n1"]);
  deepEqual([[...found.keys()], gets], [["fresh"], ["fresh", "n1"]]);
});

Deno.test("NodeWatch: reads nodes with GETs again when its stream has timed out without events", async () => {
  const { watch, stream, gets } = await synced();
  stream.end(new DOMException("no event for too long", "TimeoutError"));
  await watch.find(names);
  equal(gets.length, 30);
});

Deno.test("NodeWatch: lists and watches again when its resource version expired", async () => {
  const { kube, watch, stream } = await synced();
  kube.put("nodes", node("n1", { ready: false }));
  stream.tell("ERROR", { code: 410 });
  await eventually("another watch", () => stream.opened === 2);
  equal((await watch.find(names)).get("n1")?.ready, false);
});

Deno.test("NodeWatch: reads nodes with GETs while it is forbidden to list nodes", async () => {
  const { kube, watch, stream } = scene();
  kube.onRequest = (request) => {
    if (request.startsWith("list nodes")) throw answer(403, "Forbidden");
  };
  equal((await watch.find(names)).size, 30);
  equal((await watch.find(names)).size, 30);
  deepEqual([stream.opened, watch.isFresh], [0, false]);
});
