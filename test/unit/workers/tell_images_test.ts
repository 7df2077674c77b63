import { deepEqual } from "node:assert/strict";
import { tellImages } from "../../../workers/tell_images.ts";
import { eventually } from "../../support/eventually.ts";
import { WatchedApi } from "../../support/watched_api.ts";

const path = "/apis/ostler.dev/v1alpha1/osimages";
const creationTimestamp = new Date().toISOString();

function image(name: string, generation: number, judged?: { status: string; generation: number }): Parameters<
  WatchedApi["put"]
>[1] {
  const condition = judged && {
    ...{ type: "Accepted", status: judged.status, reason: "a", message: "", lastTransitionTime: creationTimestamp },
    observedGeneration: judged.generation,
  };
  return {
    ...{ metadata: { name, uid: name, creationTimestamp, generation }, spec: { reference: "a.example/b:v1" } },
    ...(condition ? { status: { conditions: [condition] } } : {}),
  };
}

Deno.test("tellImages: signals an OSImage that is new, changed or not accepted, and no unchanged OSImage that is accepted", async () => {
  await using api = await WatchedApi.start();
  const stop = new AbortController();
  const asked: string[] = [];
  api.put(path, image("settled", 2, { status: "True", generation: 2 }));
  api.put(path, image("fresh", 1));
  const running = tellImages({
    ...{ kube: api.kube, log: { warn: () => {} }, every: { lookEvery: 5, retellAfter: 50 } },
    tell: (name) => Promise.resolve(void asked.push(name)),
  }, stop.signal);
  const count = (name: string): number => asked.filter((each) => each === name).length;
  try {
    await eventually("repeated signals of the new one", () => count("fresh") >= 3);
    deepEqual(count("settled"), 0);
    api.put(path, image("settled", 3, { status: "True", generation: 2 }));
    await eventually("the changed one", () => count("settled") >= 1);
    api.put(path, image("settled", 3, { status: "True", generation: 3 }));
    api.put(path, image("fresh", 1, { status: "False", generation: 1 }));
    const before = count("fresh");
    await eventually("the refused one", () => count("fresh") > before + 1);
    const settled = count("settled");
    const after = count("fresh");
    await eventually("some more looks", () => count("fresh") > after + 2);
    deepEqual(count("settled"), settled);
  } finally {
    stop.abort();
    await running;
  }
});
