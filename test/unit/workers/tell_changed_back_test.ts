import { deepEqual } from "node:assert/strict";
import { tellAutoscalers } from "../../../workers/tell_autoscalers.ts";
import { tellNodeVersions } from "../../../workers/controller.ts";
import { eventually } from "../../support/eventually.ts";
import { WatchedApi } from "../../support/watched_api.ts";

type Spec = Record<string, unknown>;
type Written = Parameters<WatchedApi["put"]>[1];

const api = "/apis/update.edgeless.systems/v1alpha1";

/** Returns an object as the API server stores it; a test increases `generation` with each change of `spec`. */
function written(name: string, generation: number, spec: Spec): Written {
  return { metadata: { name, uid: name, generation, creationTimestamp: new Date().toISOString() }, spec };
}

const kinds = [
  { tellObjects: tellAutoscalers, plural: "autoscalingstrategies", one: { enabled: false }, other: { enabled: true } },
  { tellObjects: tellNodeVersions, plural: "nodeversions", one: { image: "a" }, other: { image: "b" } },
];

for (const { tellObjects, plural, one, other } of kinds) {
  Deno.test(`${tellObjects.name}: signals the run when a spec changed and changed back between two reads`, async () => {
    await using server = await WatchedApi.start();
    const stop = new AbortController();
    const told: string[] = [];
    server.put(`${api}/${plural}`, written("a", 1, one));
    const telling = tellObjects({
      ...{ kube: server.kube, log: { warn: () => {} }, every: { lookEvery: 200, retellAfter: 60_000 } },
      tell: (name) => Promise.resolve(void told.push(name)),
    }, stop.signal);
    try {
      await eventually("the first spec", () => told.length === 1 && server.watches(`${api}/${plural}`) === 1);
      server.put(`${api}/${plural}`, written("a", 2, other));
      server.put(`${api}/${plural}`, written("a", 3, one));
      await eventually("the signal for the changes between the reads", () => told.length === 2);
      deepEqual(told, ["a", "a"]);
    } finally {
      stop.abort();
      await telling;
    }
  });
}
