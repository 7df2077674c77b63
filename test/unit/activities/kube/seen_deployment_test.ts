/** What a run has read of its MachineDeployment serves its activities, but none that waits for a change. */
import type { Cluster } from "../../../../activities/cluster.ts";
import { deepEqual, equal, ok } from "node:assert/strict";
import { poolWatchesOf } from "../../../../activities/backends/machine_controller/pool_watch.ts";
import { beginToWatch } from "../../../../activities/backends/registry.ts";
import { readDesired } from "../../../../activities/pool/read_desired.ts";
import { awaitPoolChanged, readPool } from "../../../../activities/pool/read_pool.ts";
import { neverRepaired } from "../../../../activities/node/illness.ts";
import { ensureRolloutReported } from "../../../../activities/status/report_rollout.ts";
import type { ReportOrder } from "../../../../activities/status/report_rollout.ts";
import { inActivity } from "../../../support/activity_context.ts";
import { eventually } from "../../../support/eventually.ts";
import type { FakeKube } from "../../../support/fake_kube.ts";
import { FakeStreams } from "../../../support/fake_streams.ts";
import { machine, machineDeployment, machineSet, pool } from "../../../support/machine_objects.ts";
import { publisher, publishingKube } from "../../../support/publishing_kube.ts";

const question = { pool, templateHash: "hash-1", unproven: [], repair: neverRepaired, limit: 20 };

interface World {
  kube: FakeKube;
  client: Cluster;
  requests: string[];
}

interface Stage {
  generation?: number;
  replicas?: number;
  set?: { generation?: number; replicas?: number; revision?: string };
}

/** A pool and its set of which run "run-1" has read what it asks for, and the requests that came since. */
async function poolOf({ generation = 2, replicas = 0, set = {} }: Stage): Promise<World> {
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
  await inActivity(() => readDesired({ ...publisher(kube), kube: client }, pool));
  const requests: string[] = [];
  kube.onRequest = (request) => void requests.push(request);
  return { kube, client, requests };
}

async function asked(stage: Stage, runId = "run-1"): Promise<string[]> {
  const { client, requests } = await poolOf(stage);
  await inActivity(() => readPool(client, question), { runId, activityId: "2" });
  return requests;
}

Deno.test("readPool asks nothing where its run has read that no machine was ever asked for", async () => {
  for (const generation of [1, 2]) deepEqual(await asked({ generation }), []);
});

Deno.test("readPool asks for machines where there may have been one, or another run has read that there was none", async () => {
  const stages: Stage[] = [{ replicas: 3 }, { generation: 3 }, { set: { generation: 2 } }, { set: { replicas: 1 } }];
  for (const stage of stages) ok((await asked(stage)).includes("list machines fleet/"), JSON.stringify(stage));
  ok((await asked({}, "another")).includes("list machines fleet/"));
});

Deno.test("readPool asks for machines where no watch knows the set of what its run has read", async () => {
  const { kube, client, requests } = await poolOf({});
  kube.remove("machinesets", "pool-hash-1", "fleet");
  await inActivity(() => readPool(client, question), { activityId: "2" });
  ok(requests.includes("list machines fleet/"));
});

Deno.test("readPool asks for machines where an earlier set may have had one", async () => {
  const { kube, client, requests } = await poolOf({});
  kube.put("machinesets", machineSet("0", "hash-0"));
  await inActivity(() => readPool(client, question), { activityId: "2" });
  ok(requests.includes("list machines fleet/"));
});

Deno.test("a wait sees a machine that was asked for since its run has read that none was", async () => {
  const { kube, client } = await poolOf({});
  const { fingerprint } = await inActivity(() => readPool(client, question), { activityId: "2" });
  // Not told yet to who watches.
  const { onChange } = kube;
  kube.onChange = () => {};
  kube.put("machinedeployments", machineDeployment({ metadata: { generation: 3 }, spec: { replicas: 1 } }));
  kube.put("machinesets", machineSet());
  kube.put("machines", machine("m-1"));
  kube.onChange = onChange;
  const wait = { ...question, fingerprint, until: Date.now() };
  equal(await inActivity(() => awaitPoolChanged(client, wait), { activityId: "3" }), true);
});

Deno.test("ensureRolloutReported makes the Rollout of the MachineDeployment that its run has read", async () => {
  const { kube, client, requests } = await poolOf({});
  const report = { phase: "Converged", quarantine: [], underway: [], conditions: [] };
  const order = { pool, report, events: [] } as unknown as ReportOrder;
  await inActivity(() => ensureRolloutReported(client, order), { activityId: "3" });
  equal(requests.includes("get machinedeployments fleet/pool"), false);
  const [owner] = kube.get("rollouts", "pool", "fleet")?.metadata.ownerReferences ?? [];
  equal(owner?.["uid"], "uid-of-pool");
});
