/** Tests that Ostler does not list the machines of a pool that cannot have had any, except to wait for a change. */
import type { Cluster } from "../../../../activities/cluster.ts";
import { deepEqual, equal, ok } from "node:assert/strict";
import { poolWatchesOf } from "../../../../activities/backends/machine_controller/pool_watch.ts";
import { beginToWatch } from "../../../../activities/backends/registry.ts";
import { awaitPoolChanged } from "../../../../activities/pool/read_pool.ts";
import { readRound } from "../../../../activities/pool/read_round.ts";
import { neverRepaired } from "../../../../activities/node/illness.ts";
import { ensureRolloutReported } from "../../../../activities/status/report_rollout.ts";
import type { ReportOrder } from "../../../../activities/status/report_rollout.ts";
import type { PoolSnapshot } from "../../../../workflows/contracts/mod.ts";
import { inActivity } from "../../../support/activity_context.ts";
import { eventually } from "../../../support/eventually.ts";
import type { FakeKube } from "../../../support/fake_kube.ts";
import { FakeStreams } from "../../../support/fake_streams.ts";
import { machine, machineDeployment, machineSet, pool } from "../../../support/machine_objects.ts";
import { publisher, publishingKube } from "../../../support/publishing_kube.ts";

const question = { pool, templateHash: "hash-1", unproven: [], repair: neverRepaired, limit: 20 };

interface Scene {
  kube: FakeKube;
  client: Cluster;
  requests: string[];
}

interface Shape {
  generation?: number;
  replicas?: number;
  set?: { generation?: number; replicas?: number; revision?: string };
}

/** Returns a pool with its MachineSet and up-to-date watches; `requests` has only requests that are sent afterwards. */
async function poolOf({ generation = 2, replicas = 0, set = {} }: Shape): Promise<Scene> {
  const kube = await publishingKube();
  const deployment = machineDeployment({ metadata: { generation }, spec: { replicas } });
  kube.put("machinedeployments", { ...deployment, status: { observedGeneration: generation } });
  kube.remove("machinesets", "pool-hash-0", "fleet");
  const { metadata } = machineSet(set.revision ?? "1");
  kube.put("machinesets", {
    metadata: { ...metadata, generation: set.generation ?? 1 },
    spec: { replicas: set.replicas ?? 0 },
  });
  const { client } = new FakeStreams(kube);
  beginToWatch(client);
  const { sets, deployments } = poolWatchesOf(client);
  await eventually("the watches", () => sets.isFresh && deployments.isFresh);
  const requests: string[] = [];
  kube.onRequest = (request) => void requests.push(request);
  return { kube, client, requests };
}

async function read({ kube, client }: Scene): Promise<PoolSnapshot> {
  const { pool: snapshot } = await readRound({ ...publisher(kube), kube: client }, question);
  if (!snapshot) throw new Error("Cannot read the machines: another template is desired");
  return snapshot;
}

async function asked(shape: Shape): Promise<string[]> {
  const scene = await poolOf(shape);
  await read(scene);
  return scene.requests;
}

const list = "list machines fleet/";

Deno.test("readRound: lists no machines of a pool that never had one", async () => {
  for (const generation of [1, 2]) deepEqual((await asked({ generation })).includes(list), false);
});

Deno.test("readRound: lists machines when replicas, generations or the MachineSet show that the pool may have had one", async () => {
  const shapes: Shape[] = [{ replicas: 3 }, { generation: 3 }, { set: { generation: 2 } }, { set: { replicas: 1 } }];
  for (const shape of shapes) ok((await asked(shape)).includes(list), JSON.stringify(shape));
});

Deno.test("readRound: lists machines when an earlier MachineSet exists, because that set may have had machines", async () => {
  const scene = await poolOf({});
  scene.kube.put("machinesets", machineSet("0", "hash-0"));
  await read(scene);
  ok(scene.requests.includes(list));
});

Deno.test("awaitPoolChanged: ends when a pool without machines gets its first machine, even if the watches have not shown it yet", async () => {
  const scene = await poolOf({});
  const { kube, client } = scene;
  const { fingerprint } = await read(scene);
  // The watch has not delivered the new objects yet.
  const { onChange } = kube;
  kube.onChange = () => {};
  kube.put("machinedeployments", machineDeployment({ metadata: { generation: 3 }, spec: { replicas: 1 } }));
  kube.put("machinesets", machineSet());
  kube.put("machines", machine("m-1"));
  kube.onChange = onChange;
  const wait = { ...question, fingerprint, until: Date.now() };
  equal(await inActivity(() => awaitPoolChanged(client, wait)), true);
});

Deno.test("ensureRolloutReported: names the watched MachineDeployment as the owner of a new Rollout", async () => {
  const { kube, client, requests } = await poolOf({});
  const report = { phase: "Converged", quarantine: [], underway: [], conditions: [] };
  const order = { pool, report, events: [] } as unknown as ReportOrder;
  await inActivity(() => ensureRolloutReported(client, order));
  equal(requests.includes("get machinedeployments fleet/pool"), false);
  const [owner] = kube.get("rollouts", "pool", "fleet")?.metadata.ownerReferences ?? [];
  equal(owner?.["uid"], "uid-of-pool");
});
