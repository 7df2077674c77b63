/** Counts the requests to the API server for one change, with the activities in the order of a workflow run. */
import { equal, ok } from "node:assert/strict";
import { poolWatchesOf } from "../../../activities/backends/machine_controller/pool_watch.ts";
import { beginToWatch } from "../../../activities/backends/registry.ts";
import { ensureSeed } from "../../../activities/config/read_facts.ts";
import { createActivities } from "../../../activities/mod.ts";
import type { Activities } from "../../../activities/mod.ts";
import { neverRepaired } from "../../../activities/node/illness.ts";
import { closeTemplateEngines } from "../../../profiles/mod.ts";
import type { PoolEvent, RolloutReport } from "../../../workflows/contracts/mod.ts";
import { inActivity } from "../../support/activity_context.ts";
import { eventually } from "../../support/eventually.ts";
import type { FakeKube } from "../../support/fake_kube.ts";
import { FakeStreams } from "../../support/fake_streams.ts";
import { machineDeployment, pool, revisionKey } from "../../support/machine_objects.ts";
import { publisher, publishingKube } from "../../support/publishing_kube.ts";

Deno.test.afterAll(() => closeTemplateEngines());

const report = {
  ...{ phase: "Converged", reason: "Converged", message: "", blockedReason: null, paused: false, pausedBy: null },
  ...{ quarantine: [], left: null, eta: null, plan: null, underway: [], conditions: [] },
} as unknown as RolloutReport;

/** Calls the activities that a workflow run calls for one change of a pool without machines. */
async function roll(activities: Activities): Promise<void> {
  const event = (reason: string): PoolEvent => ({ type: "Normal", reason, message: "m" });
  const { seen, pool: machines } = await inActivity(() => activities.publishDesired({ pool }));
  if (seen.state !== "Present") throw new Error(`Failed to roll: the pool is ${seen.state}`);
  const { specHash, templateHash, revision } = seen.desired;
  const question = { pool, templateHash, unproven: [], repair: neverRepaired, limit: 20 };
  if (!machines) await inActivity(() => activities.readPool(question));
  const good = { specHash, templateHash, revision, image: "", kubelet: "", configDigest: "" };
  const events = [event("ConfigPublished"), event("RolloutConverged")];
  await inActivity(() => activities.ensureRolloutReported({ pool, report: { ...report, lastGood: good }, events }));
}

/** Changes the MachineDeployment, and gives the change a revision as machine-controller does. */
function change(kube: FakeKube, revision: string): void {
  const finalizers = kube.get("machinedeployments", "pool", "fleet")?.metadata.finalizers;
  const metadata = { finalizers, generation: Number(revision) };
  const status = { observedGeneration: Number(revision) };
  const overrides = { annotations: { [revisionKey]: revision }, metadata, spec: { replicas: 0 } };
  kube.put("machinedeployments", { ...machineDeployment(overrides), status });
  const set = kube.all("machinesets")[0];
  if (!set) throw new Error("Failed to set the revision: the pool has no MachineSet");
  const annotations = { ...set.metadata.annotations, [revisionKey]: revision };
  const own = { ...set.metadata, generation: revision === "1" ? 1 : 2 };
  kube.put("machinesets", { ...set, metadata: { ...own, annotations } });
  for (const each of kube.all("machinesets")) kube.put("machinesets", { ...each, spec: { replicas: 0 } });
}

Deno.test("requests: one change of an existing pool without machines takes 20 requests, and 16 when the worker has watches", async () => {
  const kube = await publishingKube();
  const streams = new FakeStreams(kube);
  const { client } = streams;
  const activities = createActivities({ ...publisher(kube), kube: client, forecast: () => ({}) as never });
  await roll(activities);
  change(kube, "2");
  streams.requests.length = 0;
  await roll(activities);
  equal(streams.requests.length, 20, streams.requests.join("\n"));
  beginToWatch(client);
  const { sets, deployments } = poolWatchesOf(client);
  await eventually("the watches", () => sets.isFresh && deployments.isFresh);
  change(kube, "3");
  streams.requests.length = 0;
  await roll(activities);
  equal(streams.requests.length, 16, streams.requests.join("\n"));
});

Deno.test("requests: one change takes 21 requests in a worker that did not publish the previous revision", async () => {
  const kube = await publishingKube();
  const [one, other] = [new FakeStreams(kube), new FakeStreams(kube)];
  const [before, after] = [one, other].map(({ client }) =>
    createActivities({ ...publisher(kube), kube: client, forecast: () => ({}) as never })
  ) as [Activities, Activities];
  beginToWatch(other.client);
  await eventually("the watches", () => other.opened.length === 2);
  await roll(after); // reads the facts of the installation, which a worker reads only once
  change(kube, "2");
  await roll(before);
  change(kube, "3");
  other.requests.length = 0;
  await roll(after);
  equal(other.requests.length, 21, other.requests.join("\n"));
});

/** Runs the periodic tasks as if the given milliseconds had passed. */
function passing(timers: ReadonlySet<() => void>, ms: number): void {
  const { now } = Date;
  Date.now = () => now() + ms;
  try {
    for (const timer of timers) timer();
  } finally {
    Date.now = now;
  }
}

Deno.test("requests: a change after an idle hour takes at most 16 requests, including those of the watches", async () => {
  const kube = await publishingKube();
  const streams = new FakeStreams(kube);
  const { client } = streams;
  const { setInterval } = globalThis;
  const timers = new Set<() => void>();
  globalThis.setInterval = ((timer: () => void) => void timers.add(timer)) as unknown as typeof setInterval;
  try {
    beginToWatch(client);
    await eventually("the watches", () => streams.opened.length === 2);
    const activities = createActivities({ ...publisher(kube), kube: client, forecast: () => ({}) as never });
    await roll(activities);
    passing(timers, 3_600_000);
    change(kube, "2");
    [streams.requests.length, streams.opened.length] = [0, 0];
    await roll(activities);
    const asked = [...streams.requests, ...streams.opened.map((kind) => `watch ${kind}`)];
    ok(asked.length <= 16, `${asked.length} requests:\n${asked.join("\n")}`);
  } finally {
    globalThis.setInterval = setInterval;
  }
});

Deno.test("requests: a new pool without machines takes 20 requests in a worker", async () => {
  const kube = await publishingKube();
  const streams = new FakeStreams(kube);
  const { client } = streams;
  const deps = { ...publisher(kube), kube: client };
  const activities = createActivities({ ...deps, forecast: () => ({}) as never });
  change(kube, "1");
  beginToWatch(client);
  const { sets, deployments } = poolWatchesOf(client);
  await eventually("the watches", () => sets.isFresh && deployments.isFresh);
  await ensureSeed(client); // before the count, because a worker reads the seed only every ten minutes, for all pools
  streams.requests.length = 0;
  await roll(activities);
  equal(streams.requests.length, 20, streams.requests.join("\n"));
});
