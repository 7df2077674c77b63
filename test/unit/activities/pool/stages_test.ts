import { deepEqual, equal, ok, rejects } from "node:assert/strict";
import { openCluster } from "../../../../activities/cluster.ts";
import { awaitNodeEmptied, awaitReplacementJoined, awaitVictimGone } from "../../../../activities/pool/stages.ts";
import { inActivity } from "../../../support/activity_context.ts";
import type { ActivityRun } from "../../../support/activity_context.ts";
import { answer, FakeKube } from "../../../support/fake_kube.ts";
import { hold, holder, machine, mark, node, pod, pool } from "../../../support/machine_objects.ts";

const rules = { timeout: null, onBlocked: "Wait", localStorage: "Delete", order: "ByPriority" } as const;

/** Returns a cluster with an old machine "a" and its held replacement "b", whose node is already Ready. */
function kubeWith(): FakeKube {
  const kube = new FakeKube();
  kube.put("machines", machine("a"));
  kube.put("machines", machine("b", { annotations: { [hold]: holder, [mark]: holder } }));
  for (const name of ["a", "b"]) kube.put("nodes", node(`node-${name}`));
  return kube;
}

function annotationsOf(kube: FakeKube, name: string): Record<string, string> {
  return kube.get("machines", name, "fleet")?.metadata.annotations ?? {};
}

function join(kube: FakeKube, run: ActivityRun = {}): ReturnType<typeof awaitReplacementJoined> {
  const at = Date.now() + 60_000;
  const deadlines = { instance: at, address: at, registered: at, ready: at };
  const order = { pool, kubelet: "1.35.3", victim: "a", machine: "b", deadlines };
  return inActivity(() => awaitReplacementJoined(kube.client, order), run);
}

function empty(kube: FakeKube, run: ActivityRun = {}): ReturnType<typeof awaitNodeEmptied> {
  const order = { pool, machine: "a", node: "node-a", until: Date.now() + 60_000, rules, known: "", force: false };
  return inActivity(() => awaitNodeEmptied(kube.client, order), run);
}

function letGo(kube: FakeKube, run: ActivityRun = {}): ReturnType<typeof awaitVictimGone> {
  const order = { pool, machine: "a", node: "node-a", until: Date.now() };
  return inActivity(() => awaitVictimGone(kube.client, order), run);
}

Deno.test("awaitReplacementJoined: marks the old machine for deletion, admits the new machine, and reports its join", async () => {
  const kube = kubeWith();
  const verdict = await join(kube);
  deepEqual("joined" in verdict && verdict.joined.map((each) => each.machine), ["b"]);
  deepEqual(kube.writes, ["patch machines fleet/a", "patch machines fleet/b"]);
  deepEqual([annotationsOf(kube, "a"), annotationsOf(kube, "b")], [{ [mark]: holder, [hold]: holder }, {
    [mark]: holder,
  }]);
});

Deno.test("awaitReplacementJoined: returns how long the activity waited for a worker, so that the join deadlines do not count this time", async () => {
  const kube = kubeWith();
  const verdict = await join(kube, { scheduledTimestampMs: Date.now() - 540_000 });
  ok("unseenMs" in verdict && verdict.unseenMs >= 540_000, JSON.stringify(verdict));
  deepEqual(kube.writes, ["patch machines fleet/a", "patch machines fleet/b"]);
});

Deno.test("awaitReplacementJoined: writes each of its two patches once when it is retried after a failure between them", async () => {
  const kube = kubeWith();
  kube.onRequest = (request) => {
    if (request === "patch machines fleet/b") throw answer(503, "ServiceUnavailable");
  };
  await rejects(join(kube), { type: "ApiUnavailable", nonRetryable: false });
  kube.onRequest = () => {};
  await join(kube, { attempt: 2, heartbeatDetails: "ordering", scheduledTimestampMs: Date.now() });
  deepEqual(kube.writes, ["patch machines fleet/a", "patch machines fleet/b"]);
});

Deno.test("awaitReplacementJoined: a retry after the first read repeats neither patch, because the old machine may be deleted by then", async () => {
  const kube = kubeWith();
  kube.remove("machines", "a", "fleet");
  const verdict = await join(kube, { attempt: 2, heartbeatDetails: { waitsFor: "", lookedAt: Date.now() } });
  ok("joined" in verdict && verdict.joined.length === 1);
  deepEqual(kube.writes, []);
});

Deno.test("awaitReplacementJoined: returns the delay, without waiting for the join, when it admitted the machine late", async () => {
  const verdict = await join(kubeWith(), { attempt: 3, scheduledTimestampMs: Date.now() - 20_000 });
  ok("unseenMs" in verdict && verdict.unseenMs >= 20_000 && verdict.unseenMs < 25_000, JSON.stringify(verdict));
});

Deno.test("awaitReplacementJoined: reports a machine that was recreated in place of its admission, without waiting for it", async () => {
  const kube = kubeWith();
  kube.put("machines", machine("b", { annotations: { [hold]: holder, [mark]: holder }, finalizers: [], status: {} }));
  const at = Date.now() + 60_000;
  const order = { pool, kubelet: "1.35.3", victim: "a", machine: "b" };
  const deadlines = { instance: at, address: at, registered: at, ready: at };
  const cluster = openCluster(kube.clients, { joinTimeoutMs: 900_000 });
  deepEqual(await inActivity(() => awaitReplacementJoined(cluster, { ...order, deadlines })), {
    ...{ joined: [], failed: [], gone: ["b"], isRecreated: true },
  });
  equal(annotationsOf(kube, "a")[mark], holder);
});

Deno.test("stages: fail without a further retry when a write fails at the eighth attempt, as an activity with a single write does", async () => {
  const kube = kubeWith();
  kube.onRequest = () => {
    throw answer(503, "ServiceUnavailable");
  };
  for (const [attempt, nonRetryable] of [[7, false], [8, true]] as const) {
    for (const stage of [join, empty, letGo]) {
      await rejects(stage(kube, { attempt }), { type: "ApiUnavailable", nonRetryable });
    }
  }
});

Deno.test("awaitNodeEmptied: cordons the node before it evicts any pod, also when it runs again", async () => {
  const kube = kubeWith();
  kube.put("pods", pod("web", "node-a"));
  for (const attempt of [1, 2]) {
    const seen = await empty(kube, { attempt, scheduledTimestampMs: Date.now() });
    equal("outcome" in seen && seen.outcome, "Drained");
  }
  deepEqual(kube.writes.slice(0, 2), ["patch nodes node-a", "evict pods apps/web"]);
});

Deno.test("awaitVictimGone: removes the hold of a machine that is being deleted, and times out while its finalizers remain", async () => {
  const kube = kubeWith();
  const metadata = { deletionTimestamp: "2026-01-01T00:00:00Z" };
  kube.put("machines", machine("a", { annotations: { [hold]: holder }, metadata }));
  await rejects(letGo(kube), { type: "MachineRemains" });
  equal(annotationsOf(kube, "a")[hold], undefined);
  kube.remove("machines", "a", "fleet");
  equal(await letGo(kube, { attempt: 2, heartbeatDetails: "finalizers remain" }), undefined);
});

Deno.test("awaitVictimGone: returns the delay, instead of a timeout, when it released the machine late", async () => {
  const late = await letGo(kubeWith(), { attempt: 4, scheduledTimestampMs: Date.now() - 30_000 });
  ok(late && late.unseenMs >= 30_000 && late.unseenMs < 40_000);
});
