import { deepEqual } from "node:assert/strict";
import {
  freedOfOldHolds,
  holdAutoscalers,
  holdersOf,
  letAutoscalersGo,
} from "../../../../activities/autoscaler/hold.ts";
import { readClusterObject } from "../../../../activities/kube/resources.ts";
import { autoscalingStrategies, type AutoscalingStrategy } from "../../../../activities/kube/update_kinds.ts";
import { FakeKube } from "../../../support/fake_kube.ts";

const annotation = "ostler.dev/held-off-by";

function strategies(enabled: boolean, annotations: Record<string, string> = {}): FakeKube {
  const kube = new FakeKube();
  kube.put("autoscalingstrategies", { metadata: { name: "a", annotations }, spec: { enabled } });
  return kube;
}

function read(kube: FakeKube): Promise<AutoscalingStrategy> {
  return readClusterObject(kube.client, autoscalingStrategies, "a");
}

async function seen(kube: FakeKube): Promise<[enabled: boolean, holders: string[]]> {
  const strategy = await read(kube);
  return [strategy.spec.enabled, holdersOf(strategy, 0)];
}

Deno.test("K24 holdAutoscalers: turns a running autoscaler off once, and on again when the hold is released", async () => {
  const kube = strategies(true);
  for (let nth = 0; nth < 2; nth++) await holdAutoscalers(kube.client, { holder: "v", until: 10 });
  deepEqual(await seen(kube), [false, ["v"]]);
  for (let nth = 0; nth < 2; nth++) await letAutoscalersGo(kube.client, { holder: "v" });
  deepEqual(await seen(kube), [true, []]);
  deepEqual((await read(kube)).metadata.annotations?.[annotation], undefined);
});

Deno.test("K24 holdAutoscalers: neither holds nor starts an autoscaler that a person turned off", async () => {
  const kube = strategies(false);
  await holdAutoscalers(kube.client, { holder: "v", until: 10 });
  await letAutoscalersGo(kube.client, { holder: "v" });
  deepEqual(await seen(kube), [false, []]);
  deepEqual(kube.writes, []);
});

Deno.test("letAutoscalersGo: turns the autoscaler on again when the last of two holders releases it", async () => {
  const kube = strategies(true);
  for (const holder of ["v", "w"]) await holdAutoscalers(kube.client, { holder, until: 10 });
  await letAutoscalersGo(kube.client, { holder: "v" });
  deepEqual(await seen(kube), [false, ["w"]]);
  await letAutoscalersGo(kube.client, { holder: "w" });
  deepEqual(await seen(kube), [true, []]);
});

Deno.test("K24 freedOfOldHolds: enables the autoscaler again when its hold has expired", async () => {
  const kube = strategies(false, { [annotation]: JSON.stringify({ v: 10 }) });
  deepEqual((await freedOfOldHolds(kube.client, await read(kube), 9)).spec.enabled, false);
  deepEqual((await freedOfOldHolds(kube.client, await read(kube), 11)).spec.enabled, true);
  deepEqual(await seen(kube), [true, []]);
});

for (const text of ["{", "[]", '{"v":"soon"}']) {
  Deno.test(`freedOfOldHolds: enables no autoscaler when the annotation of its holds is invalid: ${text}`, async () => {
    const kube = strategies(false, { [annotation]: text });
    deepEqual((await freedOfOldHolds(kube.client, await read(kube), 11)).spec.enabled, false);
  });
}
