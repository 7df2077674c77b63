/** Pools of all backends, by the keys of their Rollouts. */
import { deepEqual, equal } from "node:assert/strict";
import type { AllPools } from "../../../../activities/backends/contract.ts";
import { watchAll } from "../../../../activities/backends/registry.ts";
import { Informer } from "../../../../activities/kube/informer.ts";
import { poolOfGroup as refOfGroup } from "../../../../activities/backends/scaling_group/sight.ts";
import { poolOfNodePool as refOfNodePool } from "../../../../activities/backends/node_pool/selected.ts";
import { poolOfGroup, poolOfNodePool } from "../../../../workflows/commands/start_options.ts";
import { eventually } from "../../../support/eventually.ts";
import { WatchedApi } from "../../../support/watched_api.ts";

const creationTimestamp = "2026-01-01T00:00:00Z";
const paths = {
  deployments: "/apis/cluster.k8s.io/v1alpha1/machinedeployments",
  groups: "/apis/update.edgeless.systems/v1alpha1/scalinggroups",
  nodePools: "/apis/ostler.dev/v1alpha1/nodepools",
  nodes: "/api/v1/nodes",
};

/** Puts one pool of each kind into the API server. */
function putPools(api: WatchedApi): void {
  const named = { namespace: "fleet", name: "web", uid: "u", generation: 1, creationTimestamp };
  const annotations = { "k8c.io/operating-system-profile": "p" };
  api.put(paths.deployments, { metadata: { ...named, annotations, labels: { tier: "web" } }, spec: {} });
  const { namespace: _, ...clustered } = named;
  const ids = { groupId: "projects/p/groups/web", nodeGroupName: "web", autoscalerGroupName: "web", role: "Worker" };
  api.put(paths.groups, { metadata: { ...clustered, labels: { tier: "group" } }, spec: { nodeImage: "v", ...ids } });
  const image = { reference: `registry.example/os@sha256:${"a".repeat(64)}` };
  const spec = { nodeSelector: { matchLabels: { pool: "web" } }, driver: "bootc", image };
  api.put(paths.nodePools, { metadata: { ...named, labels: { tier: "nodes" } }, spec });
}

async function watching(
  api: WatchedApi,
  use: (source: AllPools, reported: string[]) => Promise<void>,
  { hasCloud = false, othersWithin = 60_000 } = {},
): Promise<void> {
  const stop = new AbortController();
  const reported: string[] = [];
  const source = watchAll(api.kube, {
    ...{ profileNamespace: "kube-system", hasCloud, log: { warn: () => {} }, signal: stop.signal, othersWithin },
    onChange: (key) => void reported.push(key),
  });
  try {
    await source.start();
    await use(source, reported);
  } finally {
    stop.abort();
  }
}

const keys = ["fleet/node-pool.web", "fleet/web", "kube-system/scaling-group.web"];

/** Runs `use`, and returns how often the informers meanwhile began to iterate over all objects of a kind. */
async function passesIn(use: () => Promise<void>): Promise<number> {
  const { values } = Informer.prototype;
  let passes = 0;
  Informer.prototype.values = function <T>(this: Informer<T>): Iterable<T> {
    passes += 1;
    return values.call(this) as Iterable<T>;
  };
  await use().finally(() => Informer.prototype.values = values);
  return passes;
}

Deno.test("fault E12 watchAll: a change of a node causes no iteration over all nodes", async () => {
  await using api = await WatchedApi.start();
  putPools(api);
  const put = (name: string, isReady: boolean): void => {
    const annotations = { "constellation.edgeless.systems/scaling-group-id": "projects/p/groups/web" };
    const conditions = [{ type: "Ready", status: isReady ? "True" : "False" }];
    const metadata = { name, uid: name, labels: { pool: "web" }, annotations, creationTimestamp };
    api.put(paths.nodes, { metadata, status: { conditions, nodeInfo: { bootID: "" } } });
  };
  const names = Array.from({ length: 20 }, (_, nth) => `node-${nth}`);
  for (const name of names) put(name, true);
  await watching(api, async (source) => {
    const stateOf = (): string | undefined => source.find("fleet/node-pool.web")?.illness([]);
    await eventually("the watches", () => api.watches(paths.nodes) === 3);
    equal(stateOf(), "");
    const passes = await passesIn(async () => {
      for (const name of names) {
        const before = stateOf();
        put(name, false);
        await eventually(`the change of ${name}`, () => stateOf() !== before);
      }
      for (const name of names) put(name, true);
      await eventually("all nodes to be Ready", () => stateOf() === "");
    });
    equal(passes, 0);
  }, { hasCloud: true });
});

Deno.test("fault E12 watchAll: a NodePool whose selector changes reports the health of the nodes that it selects now", async () => {
  await using api = await WatchedApi.start();
  putPools(api);
  for (const name of ["web", "db"]) {
    const conditions = [{ type: "Ready", status: name === "web" ? "True" : "False" }];
    const metadata = { name, uid: name, labels: { pool: name }, creationTimestamp };
    api.put(paths.nodes, { metadata, status: { conditions, nodeInfo: { bootID: "" } } });
  }
  await watching(api, async (source) => {
    const stateOf = (): string | undefined => source.find("fleet/node-pool.web")?.illness([]);
    equal(stateOf(), "");
    const image = { reference: `registry.example/os@sha256:${"a".repeat(64)}` };
    const metadata = { namespace: "fleet", name: "web", uid: "u", generation: 2, creationTimestamp };
    const select = (pool: string): void =>
      api.put(paths.nodePools, { metadata, spec: { nodeSelector: { matchLabels: { pool } }, driver: "bootc", image } });
    await eventually("a watch", () => api.watches(paths.nodePools) === 1);
    select("db");
    await eventually("the state of the other node", () => stateOf() !== "");
    select("web");
    await eventually("the state of the first node", () => stateOf() === "");
  });
});

Deno.test("watchAll: finds a pool of each kind by the key of its Rollout, and reports each existing pool when it starts", async () => {
  await using api = await WatchedApi.start();
  putPools(api);
  await watching(api, async (source, reported) => {
    deepEqual(source.keys().sort(), keys);
    deepEqual([...new Set(reported)].sort(), keys);
    deepEqual(keys.map((key) => source.find(key)?.pool), [
      poolOfNodePool("fleet", "web"),
      { namespace: "fleet", name: "web" },
      poolOfGroup("web"),
    ]);
    deepEqual(keys.map((key) => source.find(key)?.labels?.["tier"]), ["nodes", "web", "group"]);
    await Promise.resolve();
  });
});

Deno.test("watchAll: finds no pool by a key that is not of a Rollout, or whose pool does not exist", async () => {
  await using api = await WatchedApi.start();
  putPools(api);
  await watching(api, async (source) => {
    const others = ["web", "fleet/other", "fleet/scaling-group.web", "kube-system/node-pool.web", "kube-system/web"];
    deepEqual(others.map((key) => source.find(key)), others.map(() => undefined));
    await Promise.resolve();
  });
});

Deno.test("watchAll: reports the NodePool whose node is not Ready any more", async () => {
  await using api = await WatchedApi.start();
  putPools(api);
  const node = (status: string): Parameters<WatchedApi["put"]>[1] => ({
    metadata: { name: "n", uid: "n", labels: { pool: "web" }, creationTimestamp },
    status: { conditions: [{ type: "Ready", status }] },
  });
  api.put(paths.nodes, node("True"));
  await watching(api, async (source, reported) => {
    const illness = (): string | undefined => source.find("fleet/node-pool.web")?.illness([]);
    await eventually("a healthy pool", () => illness() === "");
    reported.length = 0;
    api.put(paths.nodes, node("Unknown"));
    await eventually("an unhealthy pool", () => illness() !== "");
    deepEqual([...new Set(reported)], ["fleet/node-pool.web"]);
  });
});

Deno.test("watchAll: watches the nodes of scaling groups only with a cloud", async () => {
  for (const [hasCloud, count] of [[false, 2], [true, 3]] as const) {
    await using api = await WatchedApi.start();
    await watching(api, async () => {
      equal(api.lists.filter((each) => each.startsWith(`${paths.nodes}?`)).length, count);
      await Promise.resolve();
    }, { hasCloud });
  }
});

Deno.test("fault E9: a kind that cannot be listed affects no other kind, and is served once it can be listed", async () => {
  for (const status of [403, 404]) {
    await using api = await WatchedApi.start();
    putPools(api);
    api.refused.set(paths.deployments, status);
    await watching(api, async (source, reported) => {
      deepEqual(source.missing(), ["MachineDeployment"]);
      const others = keys.filter((key) => key !== "fleet/web");
      await eventually("the other kinds", () => others.every((key) => source.keys().includes(key)));
      deepEqual(source.keys().sort(), others);
      api.refused.clear();
      await eventually("all kinds", () => source.missing().length === 0);
      deepEqual(source.find("fleet/web")?.pool, { namespace: "fleet", name: "web" });
      equal(reported.at(-1), "fleet/web");
    }, { othersWithin: 300 });
  }
});

Deno.test("poolOfGroup, poolOfNodePool: name pools as workflows/commands does", () => {
  for (const name of ["web", "a.b", "node-pool.x", "scaling-group.x"]) {
    deepEqual(refOfGroup(name), poolOfGroup(name));
    deepEqual(refOfNodePool({ namespace: "fleet", name }), poolOfNodePool("fleet", name));
  }
  equal(refOfGroup("web").namespace, "kube-system");
});

Deno.test("watchAll: finds the NodePool, and not a MachineDeployment that has the name of the NodePool's Rollout", async () => {
  await using api = await WatchedApi.start();
  putPools(api);
  const annotations = { "k8c.io/operating-system-profile": "p" };
  const named = { namespace: "fleet", name: "node-pool.web", uid: "v", generation: 1, creationTimestamp };
  api.put(paths.deployments, { metadata: { ...named, annotations }, spec: {} });
  // The MachineDeployments are listed first, because the answer must not depend on which list was faster.
  api.refused.set(paths.nodePools, 403);
  await watching(api, async (source) => {
    api.refused.clear();
    await eventually("all kinds", () => source.missing().length === 0);
    deepEqual(source.find("fleet/node-pool.web")?.pool, poolOfNodePool("fleet", "web"));
  }, { othersWithin: 300 });
});
