import { deepEqual, equal, match, rejects } from "node:assert/strict";
import { awaitNodeDrained, ensureNodeCordoned } from "../../../../activities/pool/drain.ts";
import { inActivity } from "../../../support/activity_context.ts";
import { answer, FakeKube } from "../../../support/fake_kube.ts";
import { node, pod } from "../../../support/machine_objects.ts";

function kubeWith(...pods: ReturnType<typeof pod>[]): FakeKube {
  const kube = new FakeKube();
  kube.put("nodes", node("n"));
  for (const each of pods) kube.put("pods", each);
  return kube;
}

function drain(kube: FakeKube, until = Date.now() + 10_000, heartbeats: unknown[] = []): Promise<{ evicted: number }> {
  return inActivity(() => awaitNodeDrained(kube.client, { node: "n", until }), { heartbeats });
}

function evictions(kube: FakeKube): string[] {
  return kube.writes.filter((write) => write.startsWith("evict"));
}

Deno.test("ensureNodeCordoned keeps new pods off, and is done when the node is gone", async () => {
  const kube = kubeWith();
  await ensureNodeCordoned(kube.client, { node: "n" });
  deepEqual(kube.get("nodes", "n")?.["spec"], { unschedulable: true });
  await ensureNodeCordoned(new FakeKube().client, { node: "n" });
});

Deno.test("awaitNodeDrained evicts what has to move and leaves other nodes alone", async () => {
  const kube = kubeWith(pod("web", "n"), pod("db", "n", { owner: "StatefulSet" }), pod("far", "other"));
  deepEqual(await drain(kube), { evicted: 2 });
  deepEqual(evictions(kube), ["evict pods apps/web", "evict pods apps/db"]);
});

Deno.test("awaitNodeDrained leaves DaemonSet, mirror and finished pods where they are", async () => {
  const kube = kubeWith(
    pod("agent", "n", { owner: "DaemonSet" }),
    pod("static", "n", { annotations: { "kubernetes.io/config.mirror": "x" } }),
    pod("done", "n", { phase: "Succeeded" }),
    pod("broken", "n", { phase: "Failed" }),
  );
  deepEqual(await drain(kube), { evicted: 0 });
  deepEqual(evictions(kube), []);
});

Deno.test("awaitNodeDrained waits while a PodDisruptionBudget protects a pod, and says so", async () => {
  const kube = kubeWith(pod("web", "n"));
  const heartbeats: unknown[] = [];
  let refusals = 0;
  kube.onRequest = (request) => {
    if (request === "evict pods apps/web" && refusals++ < 1) throw answer(429, "TooManyRequests");
  };
  deepEqual(await drain(kube, Date.now() + 10_000, heartbeats), { evicted: 1 });
  match(String(heartbeats[0]), /1 pods remain \(apps\/web\): apps\/web is protected by a PodDisruptionBudget/);
});

Deno.test("awaitNodeDrained gives up at its time and names what remains", async () => {
  const kube = kubeWith(pod("web", "n"));
  kube.onRequest = (request) => {
    if (request.startsWith("evict")) throw answer(429, "TooManyRequests");
  };
  await rejects(drain(kube, Date.now()), (error: Error & { type?: string }) => {
    equal(error.type, "PodsRemaining");
    match(error.message, /^Cannot drain node "n": 1 pods remain \(apps\/web\): .* after \d+ seconds$/);
    return true;
  });
});

Deno.test("awaitNodeDrained waits for pods that are terminating, without evicting them again", async () => {
  const kube = kubeWith(pod("web", "n", { metadata: { deletionTimestamp: "2026-01-01T00:00:00Z" } }));
  const heartbeats: unknown[] = [];
  kube.onRequest = (request) => {
    if (request.startsWith("get nodes")) kube.remove("pods", "web", "apps");
  };
  deepEqual(await drain(kube, Date.now() + 10_000, heartbeats), { evicted: 0 });
  equal(heartbeats.length, 1);
  deepEqual(evictions(kube), []);
});

Deno.test("awaitNodeDrained is done when the node is gone, whatever pods are still listed on it", async () => {
  const kube = kubeWith(pod("web", "n", { metadata: { deletionTimestamp: "2026-01-01T00:00:00Z" } }));
  kube.remove("nodes", "n");
  deepEqual(await drain(kube), { evicted: 0 });
});

Deno.test("awaitNodeDrained waits for a pod whose namespace is ending instead of giving up", async () => {
  const kube = kubeWith(pod("web", "n"));
  const heartbeats: unknown[] = [];
  let refusals = 0;
  kube.onRequest = (request) => {
    if (!request.startsWith("evict") || refusals++ > 0) return;
    throw answer(403, "Forbidden", "namespace apps is being terminated (NamespaceTerminating)");
  };
  deepEqual(await drain(kube, Date.now() + 10_000, heartbeats), { evicted: 1 });
  match(String(heartbeats[0]), /goes with its namespace/);
});

Deno.test("awaitNodeDrained fails as AccessDenied when it may not evict", async () => {
  const kube = kubeWith(pod("web", "n"));
  kube.onRequest = (request) => {
    if (request.startsWith("evict")) throw answer(403, "Forbidden", "may not create pods/eviction");
  };
  await rejects(drain(kube), { type: "AccessDenied" });
});

Deno.test("awaitNodeDrained counts a pod that vanished as moved", async () => {
  const kube = kubeWith(pod("web", "n"));
  kube.onRequest = (request) => {
    if (!request.startsWith("evict")) return;
    kube.remove("pods", "web", "apps");
    throw answer(404, "NotFound");
  };
  await drain(kube);
  equal(kube.all("pods").length, 0);
});

Deno.test("awaitNodeDrained stops when it is cancelled", async () => {
  const kube = kubeWith(pod("web", "n"));
  const cancel = new AbortController();
  kube.onRequest = (request) => {
    if (!request.startsWith("evict")) return;
    cancel.abort();
    throw answer(429, "TooManyRequests");
  };
  const work = inActivity(() => awaitNodeDrained(kube.client, { node: "n", until: Date.now() + 60_000 }), {
    cancel: cancel.signal,
  });
  await rejects(work, { name: "CancelledFailure" });
});
