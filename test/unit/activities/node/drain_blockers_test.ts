import { deepEqual, equal, match, notEqual } from "node:assert/strict";
import type { Kube } from "../../../../activities/kube/client.ts";
import { Drain } from "../../../../activities/node/drain.ts";
import type { Blocker, DrainOutcome } from "../../../../workflows/contracts/mod.ts";
import { answer, FakeKube, overBudget } from "../../../support/fake_kube.ts";
import { node, pod, pool } from "../../../support/machine_objects.ts";
import type { PodOverrides } from "../../../support/machine_objects.ts";

const rules = { timeout: null, onBlocked: "Wait", localStorage: "Block", order: "ByPriority" } as const;
const labels = { app: "web" };
const ending = { deletionTimestamp: "2026-01-01T00:00:00Z", finalizers: ["example.com/keep"] };
/** Time after which a forced drain takes the pod as late at the first read, even if the worker's clock is ahead. */
const overdue = Date.parse("2026-01-01T00:10:10Z");

function kubeWith(overrides: PodOverrides = {}, nodeOverrides: Parameters<typeof node>[1] = {}): FakeKube {
  const kube = new FakeKube();
  kube.put("nodes", node("n", nodeOverrides));
  kube.put("pods", pod("web", "n", { ...overrides, metadata: { labels, ...overrides.metadata } }));
  return kube;
}

function put(kube: FakeKube, name: string, disruptionsAllowed = 0): void {
  kube.put("poddisruptionbudgets", {
    metadata: { namespace: "apps", name },
    spec: { selector: { matchLabels: labels } },
    status: { disruptionsAllowed },
  });
}

function refuse(kube: FakeKube, error: Error): void {
  kube.onRequest = (request) => {
    if (request.startsWith("evict")) throw error;
  };
}

async function blocked(client: Kube, { from = 0, force = false } = {}): Promise<DrainOutcome & { outcome: "Blocked" }> {
  const drain = new Drain(client, {
    pool,
    machine: "m",
    node: "n",
    until: Number.MAX_SAFE_INTEGER,
    rules,
    known: "",
    force,
  });
  await drain.look(from); // The first read acts, and the second one sees the result.
  await drain.look(from + 1);
  const seen = await drain.look(from + 10_001);
  if (!("answer" in seen) || seen.answer.outcome !== "Blocked") throw new Error(`not blocked: ${JSON.stringify(seen)}`);
  return seen.answer;
}

async function only(kube: FakeKube, from = 0): Promise<Blocker | undefined> {
  return (await blocked(kube.client, { from })).blockers[0];
}

Deno.test("Drain: names the PodDisruptionBudget that protects a pod, and its Deployment", async () => {
  const kube = kubeWith();
  put(kube, "web");
  kube.put("poddisruptionbudgets", {
    metadata: { namespace: "apps", name: "other" },
    spec: { selector: { matchLabels: { app: "db" } } },
  });
  const ownerReferences = [{ kind: "Deployment", name: "web", uid: "u", controller: true }];
  kube.put("replicasets", { metadata: { namespace: "apps", name: "owner", ownerReferences } });
  refuse(kube, overBudget());
  deepEqual(await only(kube), {
    ...{ pod: "apps/web", owner: "Deployment apps/web" },
    why: "PodDisruptionBudget apps/web allows 0 disruptions",
  });
});

Deno.test("Drain: names the ReplicaSet of a pod when the owner of the ReplicaSet cannot be read, and no owner for a pod without one", async () => {
  const kube = kubeWith();
  refuse(kube, overBudget());
  equal((await only(kube))?.owner, "ReplicaSet apps/owner");
  const lonely = kubeWith({ metadata: { ownerReferences: [] } });
  refuse(lonely, overBudget());
  equal((await only(lonely))?.owner, "");
});

Deno.test("Drain: reports that a PodDisruptionBudget protects the pod, without its name, when it is forbidden to list budgets", async () => {
  const kube = kubeWith();
  put(kube, "web");
  kube.onRequest = (request) => {
    if (request.startsWith("evict")) throw overBudget();
    if (request.startsWith("list poddisruptionbudgets")) throw answer(403, "Forbidden");
  };
  equal((await only(kube))?.why, "protected by a PodDisruptionBudget");
});

Deno.test("Drain: names all budgets of a pod that several budgets protect", async () => {
  const kube = kubeWith();
  put(kube, "a");
  put(kube, "b");
  const said = "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.";
  refuse(kube, answer(500, "InternalError", said));
  equal((await only(kube))?.why, "covered by more than one PodDisruptionBudget: apps/a, apps/b");
});

Deno.test("Drain: reports an eviction that a webhook or a failing API server refuses, and continues", async () => {
  const denied = 'admission webhook "guard.example.com" denied the request: db-0 is the leader';
  const busy = "Too many requests, please try again later.";
  for (const [status, said] of [[400, denied], [403, denied], [422, denied], [500, "etcd"], [429, busy]] as const) {
    const kube = kubeWith();
    refuse(kube, answer(status, "Refused", said));
    equal((await only(kube))?.why, `its eviction was refused with HTTP ${status}: ${said}`);
  }
});

Deno.test("Drain: reports that a pod is deleted with its terminating namespace", async () => {
  const kube = kubeWith();
  refuse(
    kube,
    answer(403, "Forbidden", "unable to create new content in namespace apps because it is being terminated"),
  );
  match((await only(kube))?.why ?? "", /^its namespace is being deleted/);
});

Deno.test("Drain: keeps the key of a blocker when only the numbers in its message change, and changes the key when another budget blocks", async () => {
  const kube = kubeWith();
  refuse(kube, overBudget());
  const keys: string[] = [];
  for (const allowed of [0, 1]) {
    put(kube, "web", allowed);
    keys.push((await blocked(kube.client)).key);
  }
  equal(keys[0], keys[1]);
  put(kube, "second");
  notEqual((await blocked(kube.client)).key, keys[0]);
});

Deno.test("Drain: reports a terminating pod on an unreachable node as a blocker, and neither counts it as deleted nor force-deletes it", async () => {
  const kube = kubeWith({ metadata: { finalizers: ["example.com/keep"] } }, { heard: false });
  equal((await only(kube))?.why, "the node is unreachable, so the pod cannot confirm its termination");
  deepEqual(kube.writes, ["evict pods apps/web", "delete pods apps/web"]);
});

Deno.test("Drain: distinguishes terminating pods of a NotReady node from slow ones", async () => {
  const kube = kubeWith({ metadata: ending }, { ready: false });
  equal((await only(kube))?.why, "the node is not Ready, and the pod has not confirmed its termination");
});

Deno.test("Drain: names the finalizers of a pod that remains after its grace period, and reports a pod without finalizers as still running", async () => {
  equal((await only(kubeWith({ metadata: ending }), overdue))?.why, "its finalizers remain: example.com/keep");
  const slow = kubeWith({ metadata: { ...ending, finalizers: [] } });
  equal((await only(slow, overdue))?.why, "its grace period ended at 2026-01-01T00:00:00.000Z, but it still runs");
});

interface Deletion {
  name: string;
  body: { gracePeriodSeconds: number };
}

/** A client that also records the grace period of each deletion. */
function noting(kube: FakeKube, graces: number[]): Kube {
  const { client } = kube;
  const remove = client.core.deleteNamespacedPod.bind(client.core) as unknown as (given: Deletion) => Promise<unknown>;
  const core = new Proxy(client.core, {
    get: (target, method) => {
      if (method !== "deleteNamespacedPod") return target[method as keyof typeof target];
      return (given: Deletion) => {
        graces.push(given.body.gracePeriodSeconds);
        return remove(given);
      };
    },
  });
  return { ...client, core };
}

function forced(client: Kube): Drain {
  return new Drain(client, {
    pool,
    machine: "m",
    node: "n",
    until: Number.MAX_SAFE_INTEGER,
    rules,
    known: "",
    force: true,
  });
}

Deno.test("Drain: with force deletes pods despite PodDisruptionBudgets and local storage, with a grace period of 30 s", async () => {
  const kube = kubeWith({ spec: { volumes: [{ name: "scratch", emptyDir: {} }] } });
  refuse(kube, overBudget());
  const graces: number[] = [];
  const drain = forced(noting(kube, graces));
  await drain.look(0);
  deepEqual(await drain.look(1), { answer: { outcome: "Drained", evicted: 1 } });
  deepEqual([graces, kube.writes], [[30], ["delete pods apps/web"]]);
});

Deno.test("Drain: with force does not wait for an unreachable node", async () => {
  const graces: number[] = [];
  await forced(noting(kubeWith({}, { heard: false }), graces)).look(0);
  deepEqual(graces, [0]);
});

Deno.test("Drain: with force deletes each pod once with and once without a grace period, and reports what keeps it", async () => {
  const kube = kubeWith({ metadata: { finalizers: ["example.com/keep"] } });
  const outcome = await blocked(kube.client, { from: overdue, force: true });
  deepEqual(outcome.blockers.map(({ why }) => why), ["its finalizers remain: example.com/keep"]);
  deepEqual(kube.writes, ["delete pods apps/web", "delete pods apps/web"]);
});

Deno.test("Drain: with force grants a pod its grace period by the time that has passed, if the worker's clock is minutes ahead of the API server's", async () => {
  const graces: number[] = [];
  const metadata = { ...ending, deletionGracePeriodSeconds: 30 };
  const drain = forced(noting(kubeWith({ metadata }), graces));
  const ahead = Date.parse(ending.deletionTimestamp) + 5 * 60_000;
  await drain.look(ahead, 0);
  await drain.look(ahead + 39_999, 39_999);
  deepEqual(graces, [30]);
  await drain.look(ahead + 40_000, 40_000);
  deepEqual(graces, [30, 0]);
});

Deno.test("Drain: a drain that begins anew after its report still sees the pod whose grace period ended before", async () => {
  const kube = kubeWith({ metadata: ending });
  const late = Date.parse(ending.deletionTimestamp) + 60_000;
  const { key } = await blocked(kube.client, { from: late });
  const order = { pool, machine: "m", node: "n", until: Number.MAX_SAFE_INTEGER, rules, known: key, force: false };
  const drain = new Drain(kube.client, order);
  await drain.look(late + 20_000);
  equal("missing" in await drain.look(late + 31_000), true);
});

Deno.test("Drain: with force does not wait longer if the clock of the worker is set back during the drain", async () => {
  const graces: number[] = [];
  const metadata = { ...ending, deletionGracePeriodSeconds: 30 };
  const drain = forced(noting(kubeWith({ metadata }), graces));
  const now = Date.parse(ending.deletionTimestamp);
  await drain.look(now, 0);
  await drain.look(now - 3_600_000, 40_000);
  deepEqual(graces, [30, 0]);
});

Deno.test("Drain: with force deletes a pod without a grace period, once its own grace period is over, on a node that is not Ready", async () => {
  const graces: number[] = [];
  const drain = forced(noting(kubeWith({ metadata: ending }, { ready: false }), graces));
  await drain.look(overdue - 1);
  await drain.look(overdue);
  await drain.look(overdue + 1);
  deepEqual(graces, [30, 0]);
});
