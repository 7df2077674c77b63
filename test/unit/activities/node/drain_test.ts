import { ApiException } from "@kubernetes/client-node";
import { deepEqual, equal, match, ok, rejects } from "node:assert/strict";
import { awaitNodeDrained, Drain } from "../../../../activities/node/drain.ts";
import type { DrainOrder } from "../../../../workflows/contracts/mod.ts";
import type { Blocker, DrainOutcome } from "../../../../workflows/contracts/mod.ts";
import { inActivity } from "../../../support/activity_context.ts";
import { answer, FakeKube, overBudget } from "../../../support/fake_kube.ts";
import { node, pod, pool } from "../../../support/machine_objects.ts";

const rules = { timeout: null, onBlocked: "Wait", localStorage: "Delete", order: "ByPriority" } as const;
const due = { deletionTimestamp: "2026-01-01T00:00:00Z", finalizers: ["example.com/keep"] };
/** The deletion time in `due`, in epoch milliseconds. */
const early = Date.parse("2026-01-01T00:00:00Z");

function kubeWith(...pods: ReturnType<typeof pod>[]): FakeKube {
  const kube = new FakeKube();
  kube.put("nodes", node("n"));
  for (const each of pods) kube.put("pods", each);
  return kube;
}

function task(overrides: Partial<DrainOrder> = {}): DrainOrder {
  return {
    pool,
    machine: "m",
    node: "n",
    until: Number.MAX_SAFE_INTEGER,
    rules,
    known: "",
    force: false,
    ...overrides,
  };
}

function awaited(
  kube: FakeKube,
  overrides: Partial<DrainOrder> = {},
  heartbeats: unknown[] = [],
): Promise<DrainOutcome> {
  return inActivity(() => awaitNodeDrained(kube.client, task(overrides)), { heartbeats }).then((outcome) => {
    ok("outcome" in outcome);
    return outcome;
  });
}

/** Reads at each of the times; returns the result of the last read. */
async function looks(
  kube: FakeKube,
  overrides: Partial<DrainOrder>,
  ...times: number[]
): Promise<DrainOutcome | string | undefined> {
  const drain = new Drain(kube.client, task(overrides));
  let seen: Awaited<ReturnType<Drain["look"]>> | undefined;
  for (const now of times) seen = await drain.look(now);
  return seen && ("answer" in seen ? seen.answer : seen.missing);
}

function blockersOf(outcome: DrainOutcome | string | undefined): Blocker[] {
  return typeof outcome === "object" && outcome.outcome === "Blocked" ? outcome.blockers : [];
}

function keyOf(outcome: DrainOutcome | string | undefined): string | undefined {
  return typeof outcome === "object" && outcome.outcome === "Blocked" ? outcome.key : undefined;
}

function moved(kube: FakeKube): string[] {
  return kube.writes.filter((write) => write.startsWith("evict"));
}

function refuse(kube: FakeKube, ...names: string[]): void {
  kube.onRequest = (request) => {
    if (names.some((name) => request === `evict pods apps/${name}`)) throw overBudget();
  };
}

Deno.test("awaitNodeDrained: evicts the pods of its node that must move, and no others", async () => {
  const kube = kubeWith(pod("web", "n"), pod("db", "n", { owner: "StatefulSet" }), pod("far", "other"));
  deepEqual(await awaited(kube), { outcome: "Drained", evicted: 2 });
  deepEqual(moved(kube), ["evict pods apps/web", "evict pods apps/db"]);
});

Deno.test("awaitNodeDrained: keeps DaemonSet, mirror and finished pods", async () => {
  const kube = kubeWith(
    pod("agent", "n", { owner: "DaemonSet" }),
    pod("static", "n", { annotations: { "kubernetes.io/config.mirror": "x" } }),
    pod("done", "n", { phase: "Succeeded" }),
    pod("broken", "n", { phase: "Failed" }),
  );
  deepEqual(await awaited(kube), { outcome: "Drained", evicted: 0 });
  deepEqual(moved(kube), []);
});

Deno.test("awaitNodeDrained: waits while a PodDisruptionBudget protects a pod, and reports that", async () => {
  const kube = kubeWith(pod("web", "n"));
  const heartbeats: unknown[] = [];
  let refusals = 0;
  kube.onRequest = (request) => {
    if (request === "evict pods apps/web" && refusals++ < 1) throw overBudget();
  };
  deepEqual(await awaited(kube, {}, heartbeats), { outcome: "Drained", evicted: 1 });
  match(JSON.stringify(heartbeats[0]), /1 pod remains \(apps\/web\); apps\/web: protected by a PodDisruptionBudget/);
});

Deno.test("awaitNodeDrained: succeeds when the node is deleted, even if pods are still listed on it", async () => {
  const kube = kubeWith(pod("web", "n", { metadata: due }));
  kube.remove("nodes", "n");
  deepEqual(await awaited(kube), { outcome: "Drained", evicted: 0 });
});

Deno.test("awaitNodeDrained: fails as AccessDenied when it is forbidden to evict pods", async () => {
  const kube = kubeWith(pod("web", "n"));
  const said = 'pods "web" is forbidden: User "ada" cannot create resource "pods/eviction" in API group ""';
  kube.onRequest = (request) => {
    if (request.startsWith("evict")) throw answer(403, "Forbidden", said);
  };
  await rejects(awaited(kube), { type: "AccessDenied" });
});

Deno.test("awaitNodeDrained: stops when it is cancelled", async () => {
  const kube = kubeWith(pod("web", "n"));
  const cancel = new AbortController();
  kube.onRequest = (request) => {
    if (!request.startsWith("evict")) return;
    cancel.abort();
    throw overBudget();
  };
  const work = inActivity(() => awaitNodeDrained(kube.client, task()), { cancel: cancel.signal });
  await rejects(work, { name: "CancelledFailure" });
});

Deno.test("Drain: counts a pod as evicted when it disappears before its eviction", async () => {
  const kube = kubeWith(pod("web", "n"));
  kube.onRequest = (request) => {
    if (!request.startsWith("evict")) return;
    kube.remove("pods", "web", "apps");
    throw answer(404, "NotFound");
  };
  deepEqual(await looks(kube, {}, 0, 1), { outcome: "Drained", evicted: 1 });
});

Deno.test("Drain: waits for terminating pods without evicting them again", async () => {
  const kube = kubeWith(pod("web", "n", { metadata: due }));
  match(String(await looks(kube, {}, early, early + 9_999)), /^1 pod remains \(apps\/web\)$/);
  deepEqual(moved(kube), []);
});

Deno.test("Drain: evicts pods of a priority only when all pods of lower priorities are deleted", async () => {
  const kube = kubeWith(
    pod("high", "n", { spec: { priority: 1000 } }),
    pod("low", "n", { metadata: { finalizers: ["example.com/keep"] } }),
  );
  await looks(kube, {}, 0, 1);
  deepEqual(moved(kube), ["evict pods apps/low"]);
  kube.remove("pods", "low", "apps");
  await looks(kube, {}, 2);
  deepEqual(moved(kube), ["evict pods apps/low", "evict pods apps/high"]);
});

Deno.test("Drain: evicts pods of all priorities together when the policy has order AllAtOnce", async () => {
  const kube = kubeWith(pod("high", "n", { spec: { priority: 1000 } }), pod("low", "n"));
  await looks(kube, { rules: { ...rules, order: "AllAtOnce" } }, 0);
  deepEqual(moved(kube), ["evict pods apps/high", "evict pods apps/low"]);
});

Deno.test("Drain: evicts a pod with local storage by default, and is blocked by the pod when the policy has localStorage Block", async () => {
  const storing = pod("cache", "n", { spec: { volumes: [{ name: "config" }, { name: "scratch", emptyDir: {} }] } });
  const free = kubeWith(storing);
  await looks(free, {}, 0);
  deepEqual(moved(free), ["evict pods apps/cache"]);
  const kube = kubeWith(storing);
  const outcome = await looks(kube, { rules: { ...rules, localStorage: "Block" } }, 0, 10_000);
  deepEqual(blockersOf(outcome).map(({ why }) => why), ['its data in emptyDir "scratch" would be lost']);
  deepEqual(moved(kube), []);
});

Deno.test("Drain: reports a blocker after ten seconds, and only if it has not been reported before", async () => {
  const kube = kubeWith(pod("web", "n"));
  refuse(kube, "web");
  match(String(await looks(kube, {}, 0, 9_999)), /protected by/);
  const told = await looks(kube, {}, 0, 9_999, 10_000);
  equal(blockersOf(told).length, 1);
  match(String(await looks(kube, { known: keyOf(told) ?? "" }, 0, 60_000)), /protected by/);
});

Deno.test("Drain: reports that nothing blocks the drain any more, after ten seconds", async () => {
  const kube = kubeWith(pod("web", "n", { metadata: { ...due, finalizers: [] } }));
  const [known, start] = ["earlier", early - 10_000];
  match(String(await looks(kube, { known }, start, start + 9_999)), /1 pod remains/);
  deepEqual(await looks(kube, { known }, start, start + 10_000), {
    ...{ outcome: "Blocked", evicted: 0, blockers: [], key: "" },
  });
});

Deno.test("Drain: ends at its deadline, and reports each remaining pod with its cause", async () => {
  const kube = kubeWith(
    pod("web", "n"),
    pod("slow", "n", { metadata: due }),
    pod("high", "n", { spec: { priority: 9 } }),
  );
  refuse(kube, "web");
  const outcome = await looks(kube, { until: early }, early);
  deepEqual(blockersOf(outcome).map(({ pod: name, why }) => [name, why]), [
    ["apps/web", "protected by a PodDisruptionBudget"],
    ["apps/slow", "still terminating"],
    ["apps/high", "waiting for pods of a lower priority to be evicted"],
  ]);
});

Deno.test("Drain: returns at most twenty blockers", async () => {
  const kube = kubeWith(...Array.from({ length: 30 }, (_, nth) => pod(`web-${nth}`, "n", { metadata: due })));
  equal(blockersOf(await looks(kube, { until: early }, early)).length, 20);
});

Deno.test("Drain: a 404 of a proxy before the API server does not count as a deleted, and so drained, node", async () => {
  const kube = kubeWith(pod("web", "n"));
  kube.onRequest = (request) => {
    if (request === "get nodes n") throw new ApiException(404, "Not Found", "default backend - 404", {});
  };
  await rejects(looks(kube, {}, early));
});

Deno.test("awaitNodeDrained: excludes from its deadline the time when nothing could be read", async () => {
  const kube = kubeWith(pod("web", "n"));
  kube.onRequest = (request) => {
    if (request === "evict pods apps/web") throw overBudget();
  };
  const heartbeatDetails = { waitsFor: "1 pods remain", lookedAt: Date.now() - 3_600_000 };
  const late = task({ until: Date.now() - 1_800_000 });
  const outcome = await inActivity(() => awaitNodeDrained(kube.client, late), { heartbeatDetails });
  ok("unseenMs" in outcome && outcome.unseenMs >= 3_600_000 && outcome.unseenMs < 3_700_000);
});
