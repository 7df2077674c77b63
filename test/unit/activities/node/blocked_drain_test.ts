import { deepEqual, equal, ok } from "node:assert/strict";
import { awaitNodeDrained, Drain } from "../../../../activities/node/drain.ts";
import type { DrainOrder } from "../../../../workflows/contracts/mod.ts";
import { inActivity } from "../../../support/activity_context.ts";
import { eventually } from "../../../support/eventually.ts";
import { FakeKube, overBudget } from "../../../support/fake_kube.ts";
import { FakeStreams } from "../../../support/fake_streams.ts";
import { node, pod, pool } from "../../../support/machine_objects.ts";

const rules = { timeout: null, onBlocked: "Wait", localStorage: "Delete", order: "ByPriority" } as const;
const far = Number.MAX_SAFE_INTEGER;
const task: DrainOrder = { pool, machine: "m", node: "n", until: far, rules, known: "", force: false };

function budget(disruptionsAllowed: number): Parameters<FakeKube["put"]>[1] {
  const metadata = { namespace: "apps", name: "web" };
  return { metadata, spec: { selector: {} }, status: { disruptionsAllowed } } as never;
}

/** Returns a node with one pod, which a PodDisruptionBudget protects, and the list of evictions that were requested. */
function blocked(): { kube: FakeKube; evictions: string[] } {
  const kube = new FakeKube();
  kube.put("nodes", node("n"));
  kube.put("pods", pod("web", "n"));
  kube.put("poddisruptionbudgets", budget(0) as never);
  const evictions: string[] = [];
  kube.onRequest = (request) => {
    if (!request.startsWith("evict ")) return;
    evictions.push(request);
    const { disruptionsAllowed } = kube.get("poddisruptionbudgets", "web", "apps")?.["status"] as Record<
      string,
      number
    >;
    if (!disruptionsAllowed) throw overBudget();
  };
  return { kube, evictions };
}

/** Drains for `forMs` milliseconds, reading as often as the drain asks; returns the number of reads. */
async function drained(drain: Drain, { from, forMs }: { from: number; forMs: number }): Promise<number> {
  let looks = 0;
  for (let now = from; now < from + forMs; now += drain.restMs) {
    await drain.look(now);
    looks += 1;
  }
  return looks;
}

Deno.test("Drain: retries a blocked eviction and reads at growing intervals", async () => {
  const { kube, evictions } = blocked();
  const looks = await drained(new Drain(kube.client, task), { from: 0, forMs: 600_000 });
  ok(evictions.length >= 10 && evictions.length <= 18, `${evictions.length} evictions`);
  ok(looks >= 20 && looks <= 35, `${looks} looks`);
});

Deno.test("Drain: retries an eviction at the next read after the PodDisruptionBudget has changed", async () => {
  const { kube, evictions } = blocked();
  const drain = new Drain(kube.client, task);
  await drained(drain, { from: 0, forMs: 600_000 });
  evictions.length = 0;
  await drain.look(600_001);
  deepEqual(evictions, []);
  kube.put("poddisruptionbudgets", budget(1) as never);
  await drain.look(602_000);
  equal(evictions.length, 1);
  deepEqual(await drain.look(603_000), { answer: { outcome: "Drained", evicted: 1 } });
});

Deno.test("awaitNodeDrained: retries the eviction of a blocked pod as soon as its PodDisruptionBudget changes", async () => {
  const { kube, evictions } = blocked();
  const asks = kube.onRequest;
  const streams = new FakeStreams(kube);
  kube.onRequest = asks;
  const wait = inActivity(() => awaitNodeDrained(streams.client, task));
  // After three refused evictions the drain reads only every few seconds.
  await eventually("three evictions that were refused", () => evictions.length === 3);
  const begun = Date.now();
  kube.put("poddisruptionbudgets", budget(1) as never);
  await eventually("an eviction that was not refused", () => evictions.length === 4);
  ok(Date.now() - begun < 1_500, `it took ${Date.now() - begun} ms`);
  kube.remove("nodes", "n");
  deepEqual(await wait, { outcome: "Drained", evicted: 1 });
});

Deno.test("Drain: does not read more often because of a terminating pod whose eviction was refused", async () => {
  const { kube } = blocked();
  const drain = new Drain(kube.client, task);
  await drain.look(0);
  kube.put(
    "pods",
    pod("web", "n", { metadata: { deletionTimestamp: "2026-01-01T00:00:00Z", finalizers: ["x/keep"] } }),
  );
  const now = Date.now();
  await drain.look(now);
  ok(drain.lookBy > now + 500, `Expected no read within ${drain.lookBy - now} ms`);
});
