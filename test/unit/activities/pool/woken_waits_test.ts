import type { Cluster } from "../../../../activities/cluster.ts";
import { deepEqual, equal, ok } from "node:assert/strict";
import { setTimeout as pause } from "node:timers/promises";
import { awaitMachinesJoined } from "../../../../activities/pool/await_joined.ts";
import { awaitMachineGone } from "../../../../activities/pool/await_machine.ts";
import { poolWatchesOf } from "../../../../activities/backends/machine_controller/pool_watch.ts";
import { awaitDesiredSettled, readDesired } from "../../../../activities/pool/read_desired.ts";
import { awaitPoolChanged, readPool } from "../../../../activities/pool/read_pool.ts";
import { neverRepaired } from "../../../../activities/node/illness.ts";
import { inActivity } from "../../../support/activity_context.ts";
import { eventually } from "../../../support/eventually.ts";
import { FakeKube } from "../../../support/fake_kube.ts";
import { FakeStreams } from "../../../support/fake_streams.ts";
import { machine, machineDeployment, machineSet, node, pool, putPool } from "../../../support/machine_objects.ts";

/** Longer than the longest poll interval of any wait. */
const aWhileMs = 1_500;
const until = Date.now() + 3_600_000;
const question = { pool, templateHash: "hash-1", unproven: [], repair: neverRepaired, limit: 20 };
const far = { instance: until, address: until, registered: until, ready: until };
const owned = { ownerReferences: [{ kind: "MachineSet", name: "pool-hash-1", uid: "uid-of-pool-hash-1" }] };

interface Scene {
  kube: FakeKube;
  streams: FakeStreams;
  client: Cluster;
}

function scene(): Scene {
  const kube = new FakeKube();
  putPool(kube);
  kube.put("machines", machine("a", { metadata: owned }));
  kube.put("nodes", node("node-a"));
  const streams = new FakeStreams(kube);
  return { kube, streams, client: streams.client };
}

/**
 * Waits until the wait under test has all its watches, has sent its first requests up to `last`, and is quiet for a
 * while.
 */
async function quiet({ streams, client }: Scene, kinds: number, last?: string): Promise<void> {
  await eventually("the watches", () => streams.opened.length === kinds);
  const { deployments, sets, machines } = poolWatchesOf(client);
  const all = [deployments, sets, machines, client.nodes];
  await eventually("fresh watches", () => all.filter(({ isFresh }) => isFresh).length === kinds);
  await eventually("the first read", () => last === undefined || streams.requests.includes(last));
  await pause(300);
  streams.requests.length = 0;
  await pause(aWhileMs);
  deepEqual(streams.requests, []);
}

const waits: {
  what: string;
  kinds: number;
  last?: string;
  prepare?: (kube: FakeKube) => void;
  begin: Begin;
  change: Change;
}[] = [
  {
    what: "awaitDesiredSettled",
    kinds: 2,
    // The wait first pauses for machine-controller, and sends this request only afterwards.
    last: "list rolloutpolicies fleet/",
    prepare: (kube) => kube.put("machinedeployments", machineDeployment({ metadata: { generation: 2 } })),
    begin: (kube) => awaitDesiredSettled({ kube, profileNamespace: "kube-system" }, { pool, until }),
    change: (kube) => kube.put("machinedeployments", { ...machineDeployment(), status: { observedGeneration: 2 } }),
  },
  {
    what: "awaitMachineGone",
    kinds: 1,
    begin: (kube) => awaitMachineGone(kube, { pool, machine: "a", until }),
    change: (kube) => kube.remove("machines", "a", "fleet"),
  },
  {
    what: "awaitMachinesJoined",
    kinds: 2,
    prepare: (kube) => kube.put("nodes", node("node-a", { ready: false })),
    begin: (kube) =>
      awaitMachinesJoined(kube, { pool, kubelet: "1.35.3", machines: [{ machine: "a", deadlines: far }] }),
    change: (kube) => kube.put("nodes", node("node-a")),
  },
  ...[
    { what: "a machine is deleted", change: (kube: FakeKube) => kube.remove("machines", "a", "fleet") },
    { what: "a node is not Ready", change: (kube: FakeKube) => kube.put("nodes", node("node-a", { ready: false })) },
    { what: "a machine is added", change: (kube: FakeKube) => kube.put("machines", machine("b", { metadata: owned })) },
  ].map(({ what, change }) => ({
    what: `awaitPoolChanged (${what})`,
    kinds: 4,
    begin: async (kube: Cluster) => {
      // The MachineSet counts all Ready nodes, so the wait annotates no Machine to make machine-controller count again.
      const { fingerprint } = await readPool(kube, question);
      return await awaitPoolChanged(kube, { ...question, fingerprint, until });
    },
    prepare: (kube: FakeKube) => kube.put("machinesets", { ...machineSet(), status: { readyReplicas: 1 } }),
    change,
  })),
];

type Begin = (kube: Cluster) => Promise<unknown>;
type Change = (kube: FakeKube) => unknown;

interface Waiting {
  kube: FakeKube;
  wait: Promise<unknown>;
}

async function beginQuietly({ kinds, last, prepare = () => {}, begin }: typeof waits[number]): Promise<Waiting> {
  const made = scene();
  prepare(made.kube);
  const wait = inActivity(() => begin(made.client));
  await quiet(made, kinds, last);
  return { kube: made.kube, wait };
}

/** The waits of all tests, begun concurrently; no wait disturbs another, because each has its own fake cluster. */
let all: Promise<Waiting>[] | undefined;

function beginAll(): Promise<Waiting>[] {
  const begun = waits.map(beginQuietly);
  for (const one of begun) one.catch(() => undefined); // the test of each wait reports its failure
  return begun;
}

for (const [at, { what, change }] of waits.entries()) {
  Deno.test(`${what}: sends no requests while nothing changes, and ends within 0.4 s after a change`, async () => {
    all ??= beginAll();
    const { kube, wait } = await all[at] as Waiting;
    const begun = Date.now();
    change(kube);
    await wait;
    ok(Date.now() - begun < 400, `it took ${Date.now() - begun} ms`);
  });
}

Deno.test("awaitPoolChanged: sends no requests when only another pool, or its nodes, changed", async () => {
  const made = scene();
  const { kube, streams, client } = made;
  kube.put("machinesets", { ...machineSet(), status: { readyReplicas: 1 } });
  const theirs = {
    ...machineSet().metadata,
    name: "other-1",
    ownerReferences: [{ kind: "MachineDeployment", name: "other", uid: "o" }],
  };
  kube.put("machinesets", { metadata: theirs });
  const stop = new AbortController();
  const { fingerprint } = await readPool(client, question);
  const work = (): Promise<boolean> => awaitPoolChanged(client, { ...question, fingerprint, until });
  const wait = inActivity(work, { cancel: stop.signal });
  wait.catch(() => undefined); // the wait is cancelled at the end of the test
  await quiet(made, 4);
  const metadata = { ownerReferences: [{ kind: "MachineSet", name: "other-1", uid: "u" }] };
  kube.put("machines", machine("z", { labels: { pool: "other" }, metadata }));
  kube.put("nodes", node("node-z", { ready: false }));
  kube.put("machines", machine("y", { metadata: { ...metadata, namespace: "else" } }));
  await pause(300);
  deepEqual(streams.requests, []);
  stop.abort();
});

Deno.test("awaitMachineGone: polls while the watch is broken, and stops polling when the watch works again", async () => {
  const made = scene();
  const { kube, streams, client } = made;
  const wait = inActivity(() => awaitMachineGone(client, { pool, machine: "a", until }));
  await quiet(made, 1);
  streams.isDown = true;
  streams.end("machines", new DOMException("no event for too long", "TimeoutError"));
  await eventually("a poll", () => streams.requests.includes("get machines fleet/a"), { withinMs: 10_000 });
  streams.isDown = false;
  await eventually("another watch", () => streams.opened.length === 2);
  await pause(600);
  streams.requests.length = 0;
  await pause(600);
  deepEqual(streams.requests, []);
  kube.remove("machines", "a", "fleet");
  await wait;
});

Deno.test("fault E12 awaitPoolChanged: does not go through the machines of the pool at each event of a node", async () => {
  const { kube, client } = scene();
  kube.put("machinesets", { ...machineSet(), status: { readyReplicas: 1 } });
  const wait = inActivity(async () => {
    const { fingerprint } = await readPool(client, question);
    return await awaitPoolChanged(client, { ...question, fingerprint, until });
  });
  await eventually("the watches", () => [...client.nodes.values()].length > 0);
  await pause(1_000);
  const Original = globalThis.Set;
  let made = 0;
  globalThis.Set = class<T> extends Original<T> {
    constructor(values?: Iterable<T> | null) {
      super(values);
      made += 1;
    }
  } as typeof Set;
  try {
    for (let nth = 0; nth < 200; nth++) kube.put("nodes", node(`other-${nth}`));
  } finally {
    globalThis.Set = Original;
  }
  ok(made < 20, `${made} sets were made`);
  kube.remove("machines", "a", "fleet");
  await wait;
});

Deno.test("awaitMachineGone: polls when watch streams are unavailable", async () => {
  const { kube } = scene();
  let looks = 0;
  kube.onRequest = () => {
    if (looks++ === 1) kube.remove("machines", "a", "fleet");
  };
  await inActivity(() => awaitMachineGone(kube.client, { pool, machine: "a", until }));
  equal(looks, 2);
});

Deno.test("readDesired: waits a moment for machine-controller to observe a change, and then reads only the MachineDeployment again", async () => {
  const { kube, streams, client } = scene();
  const metadata = { generation: 2 };
  kube.put("machinedeployments", machineDeployment({ metadata }));
  const read = readDesired({ kube: client, profileNamespace: "kube-system" }, pool);
  await eventually("the watches", () => streams.opened.length === 2);
  await pause(300);
  kube.put("machinedeployments", { ...machineDeployment({ metadata }), status: { observedGeneration: 2 } });
  const seen = await read;
  equal(seen.state === "Present" && seen.desired.settled, true);
  const count = (request: string): number => streams.requests.filter((each) => each.startsWith(request)).length;
  equal(count("get machinedeployments fleet/pool"), 2);
  equal(count("list rolloutpolicies"), 1);
  // The watch sends one list, and the wait itself sends none.
  equal(count("list machinesets"), 1);
});
