import { deepEqual, equal, notEqual } from "node:assert/strict";
import { machineController } from "../../../activities/backends/machine_controller/mod.ts";
import type { WatchedPool } from "../../../workers/pool_notifier.ts";
import { type WatchedPools, watchPools } from "../../../workers/watch_pools.ts";
import { eventually } from "../../support/eventually.ts";
import { WatchedApi } from "../../support/watched_api.ts";

const cluster = "/apis/cluster.k8s.io/v1alpha1";
const ostler = "/apis/ostler.dev/v1alpha1";
const paths = {
  deployments: `${cluster}/machinedeployments`,
  sets: `${cluster}/machinesets`,
  machines: `${cluster}/machines`,
  nodes: "/api/v1/nodes",
  rollouts: `${ostler}/rollouts`,
  policies: `${ostler}/rolloutpolicies`,
};
const creationTimestamp = "2026-01-01T00:00:00Z";

type Named = { metadata: { name: string; [field: string]: unknown }; [field: string]: unknown };

function object(name: string, fields: { metadata?: object; spec?: object; status?: object } = {}): Named {
  const metadata = { name, namespace: "fleet", uid: `uid-of-${name}`, generation: 1, creationTimestamp };
  return { spec: {}, ...fields, metadata: { ...metadata, ...fields.metadata } };
}

function owned(name: string, kind: string, owner: string, status: object = {}): Named {
  const ownerReferences = [{ kind, name: owner, uid: `uid-of-${owner}` }];
  return object(name, { metadata: { ownerReferences }, status });
}

function deployment(name: string, labels: Record<string, string> = {}): Named {
  return object(name, { metadata: { labels, annotations: { "k8c.io/operating-system-profile": "p" } } });
}

function node(name: string, conditions: Record<string, string>): Named {
  return {
    metadata: { name },
    status: { conditions: Object.entries(conditions).map(([type, status]) => ({ type, status })) },
  };
}

/** Watches the pools "web" and "db", each with one joined machine; `of` returns the state of a pool in the watch. */
async function twoPools(api: WatchedApi): Promise<Fleet> {
  for (const name of ["web", "db"]) {
    api.put(paths.deployments, deployment(name, { tier: name }));
    api.put(paths.rollouts, object(name, { status: { phase: "Converged" } }));
    api.put(paths.sets, owned(`${name}-1`, "MachineDeployment", name));
    const joined = { nodeRef: { name: `${name}-node` }, conditions: [{ type: "Ready", status: "True" }] };
    api.put(paths.machines, owned(`${name}-1-a`, "MachineSet", `${name}-1`, joined));
    api.put(paths.nodes, node(`${name}-node`, { Ready: "True" }));
  }
  const stop = new AbortController();
  const { kube } = api;
  const place = { profileNamespace: "kube-system", hasCloud: false };
  const watch = watchPools({
    ...{ kube, log: { warn: () => {} }, signal: stop.signal },
    watchAll: (deps) => machineController(kube).watchAll({ ...deps, ...place }),
  });
  const told: string[] = [];
  await watch.start();
  await eventually("all watches", () => Object.values(paths).every((path) => api.watches(path) === 1));
  watch.onChange((key) => told.push(key));
  return { told, watch, of: (name) => found(watch.find(`fleet/${name}`)), [Symbol.dispose]: () => stop.abort() };
}

interface Fleet {
  told: string[];
  watch: WatchedPools;
  of(name: string): WatchedPool;
  [Symbol.dispose](): void;
}

function found(pool: WatchedPool | undefined): WatchedPool {
  if (!pool) throw new Error("Failed to find the pool: the watch has none");
  return pool;
}

Deno.test("watchPools: reports a pool when its node becomes NotReady and when the node recovers, and no other pool", async () => {
  await using api = await WatchedApi.start();
  using fleet = await twoPools(api);
  deepEqual([fleet.of("web").illness, fleet.of("db").illness], ["", ""]);
  api.put(paths.nodes, node("web-node", { Ready: "Unknown" }));
  await eventually("an unhealthy pool", () => fleet.of("web").illness !== "");
  equal(fleet.of("db").illness, "");
  api.put(paths.nodes, node("web-node", { Ready: "True" }));
  await eventually("a healthy pool", () => fleet.of("web").illness === "");
  deepEqual(fleet.told, ["fleet/web", "fleet/web"]);
});

Deno.test("watchPools: updates the counts of a rollout without reporting the pool, and reports the pool when the phase changes", async () => {
  await using api = await WatchedApi.start();
  using fleet = await twoPools(api);
  const { watch } = fleet;
  const ready = (): number[] => (watch.numbers() ?? []).map((each) => each.ready);
  const status = { phase: "Converged", readyReplicas: 3, message: "Three are Ready" };
  api.put(paths.rollouts, object("web", { status }));
  await eventually("its progress", () => ready().includes(3));
  deepEqual([fleet.told, watch.notices()], [[], []]);
  api.put(paths.rollouts, object("web", { status: { ...status, phase: "Halted", reason: "GateFailed" } }));
  await eventually("its halt", () => fleet.told.length > 0);
  const [told] = watch.notices();
  deepEqual([fleet.told, told?.pool, told?.notice.kind], [
    ["fleet/web"],
    { namespace: "fleet", name: "web" },
    "Halted",
  ]);
});

Deno.test("watchPools: treats a node with a condition as unhealthy if a policy that selects its pool names the condition", async () => {
  await using api = await WatchedApi.start();
  using fleet = await twoPools(api);
  for (const name of ["web-node", "db-node"]) api.put(paths.nodes, node(name, { Ready: "True", DiskPressure: "True" }));
  const conditions = [{ type: "DiskPressure", status: "True" }];
  const spec = { selector: { matchLabels: { tier: "web" } }, repair: { conditions } };
  api.put(paths.policies, object("careful", { spec }));
  await eventually("an unhealthy pool", () => fleet.of("web").illness !== "");
  equal(fleet.of("db").illness, "");
});

Deno.test("watchPools: ignores the node of a machine that is being deleted", async () => {
  await using api = await WatchedApi.start();
  using fleet = await twoPools(api);
  api.put(paths.machines, object("web-1-a", { metadata: { deletionTimestamp: creationTimestamp } }));
  api.put(paths.nodes, node("web-node", { Ready: "False" }));
  api.put(paths.nodes, node("db-node", { Ready: "False" }));
  await eventually("the other pool", () => fleet.of("db").illness !== "");
  equal(fleet.of("web").illness, "");
});

Deno.test("watchPools: reports every pool in the namespace of a changed policy, and updates the policies of the selected pools", async () => {
  await using api = await WatchedApi.start();
  using fleet = await twoPools(api);
  const policy = object("careful", { spec: { selector: { matchLabels: { tier: "web" } } } });
  api.put(paths.policies, policy);
  await eventually("a policy", () => fleet.of("web").policies !== "");
  deepEqual(fleet.told.toSorted(), ["fleet/db", "fleet/web"]);
  equal(fleet.of("db").policies, "");
  const first = fleet.of("web").policies;
  api.put(paths.policies, object("careful", { ...policy, metadata: { generation: 2 } }));
  await eventually("its change", () => fleet.of("web").policies !== first);
  notEqual(fleet.of("web").policies, "");
  api.remove(paths.policies, policy);
  await eventually("its end", () => fleet.of("web").policies === "");
});

Deno.test("watchPools: treats a rollout as open until it converged, rolled back or was aborted", async () => {
  await using api = await WatchedApi.start();
  using fleet = await twoPools(api);
  const phases = ["Rolling", "RollingBack", "Repairing", "Halted", "Converged", "RolledBack", "Aborted"];
  const seen: string[] = [];
  for (const phase of phases) {
    api.put(paths.rollouts, object("web", { status: { phase, observed: phase } }));
    await eventually(phase, () => fleet.of("web").reported === phase);
    if (fleet.of("web").isOpen) seen.push(phase);
    equal(fleet.of("web").isLeft, phase === "Aborted");
  }
  deepEqual(seen, ["Rolling", "RollingBack", "Repairing", "Halted"]);
});

Deno.test("watchPools: reports a run from before the cluster had a name only while its rollout is open", async () => {
  await using api = await WatchedApi.start();
  using fleet = await twoPools(api);
  const { watch } = fleet;
  const put = (phase: string, workflowId: string): void =>
    void api.put(paths.rollouts, object("web", { status: { phase, workflowId, runId: "run-1" } }));
  equal(watch.hasUnnamedRuns(), false);
  put("Halted", "machine-deployment/fleet/web");
  await eventually("the open run", () => watch.hasUnnamedRuns());
  put("Halted", "north/machine-deployment/fleet/web");
  await eventually("its successor", () => !watch.hasUnnamedRuns());
  put("Rolling", "machine-deployment/fleet/web");
  await eventually("the open run again", () => watch.hasUnnamedRuns());
  put("Converged", "machine-deployment/fleet/web");
  await eventually("its end", () => !watch.hasUnnamedRuns());
});

Deno.test("watchPools: gives the kind of the pool in a notification about a ScalingGroup or a NodePool", async () => {
  await using api = await WatchedApi.start();
  using fleet = await twoPools(api);
  const status = { phase: "Halted", reason: "GateFailed" };
  const inSystem = { status, metadata: { namespace: "kube-system" } };
  api.put(paths.rollouts, object("scaling-group.alpha", inSystem));
  api.put(paths.rollouts, object("node-pool.edge", { status }));
  await eventually("both notifications", () => fleet.watch.notices().length === 2);
  deepEqual(fleet.watch.notices().map(({ pool }) => pool), [
    { kind: "ScalingGroup", namespace: "kube-system", name: "scaling-group.alpha" },
    { kind: "NodePool", namespace: "fleet", name: "node-pool.edge" },
  ]);
});
