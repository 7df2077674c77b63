import { deepEqual, equal, rejects } from "node:assert/strict";
import { readDesired } from "../../../../activities/pool/read_desired.ts";
import { publishDesired, readRound } from "../../../../activities/pool/read_round.ts";
import type { PoolQuestion } from "../../../../workflows/contracts/mod.ts";
import { defaultRules } from "../../../../activities/policy/default_rules.ts";
import { closeTemplateEngines } from "../../../../profiles/mod.ts";
import { inActivity } from "../../../support/activity_context.ts";
import { FakeKube } from "../../../support/fake_kube.ts";
import { machine, machineDeployment, machineSet, pool, revisionKey } from "../../../support/machine_objects.ts";
import { publisher, publishingKube } from "../../../support/publishing_kube.ts";

Deno.test.afterAll(() => closeTemplateEngines());

function readerWith(): { kube: FakeKube; reader: Parameters<typeof readRound>[0] } {
  const kube = new FakeKube();
  kube.put("machinedeployments", machineDeployment());
  kube.put("machinesets", machineSet());
  kube.put("machines", machine("a"));
  return { kube, reader: { kube: kube.client, profileNamespace: "kube-system" } };
}

function about(templateHash: string): PoolQuestion {
  return { pool, templateHash, unproven: [], repair: defaultRules.repair, limit: 20 };
}

Deno.test("readRound: returns desired state and machines in one call", async () => {
  const { reader } = readerWith();
  const { seen, pool: found } = await readRound(reader, about("hash-1"));
  deepEqual(seen, await readDesired(reader, pool));
  equal(found?.counts.machines, 1);
});

Deno.test("readRound: reads no machines when another template is desired or the pool is deleted", async () => {
  const { kube, reader } = readerWith();
  equal((await readRound(reader, about("hash-0"))).pool, null);
  kube.remove("machinedeployments", "pool", "fleet");
  deepEqual(await readRound(reader, about("hash-1")), { seen: { state: "Gone" }, pool: null });
});

const bootstrap = ["secrets", "pool-fleet-bootstrap-config", "cloud-init-settings"] as const;

Deno.test("publishDesired: publishes the desired revision, and returns what the Rollout records of earlier runs", async () => {
  const kube = await publishingKube();
  kube.put("rollouts", { metadata: { ...pool }, status: { paused: true, pausedBy: { by: "ann" } } });
  const { seen, earlier, published, pool: machines } = await inActivity(() =>
    publishDesired(publisher(kube), { pool })
  );
  equal(seen.state, "Present");
  equal(earlier.paused?.by, "ann");
  equal(published?.news, "Published");
  equal(machines, null, "a watch has not shown yet that the pool has no machines");
  equal(kube.get(...bootstrap)?.metadata.annotations?.["k8c.io/machine-deployment-revision"], "1");
});

Deno.test("publishDesired: publishes nothing for a deleted pool, or for a pool without an observed revision", async () => {
  const kube = await publishingKube();
  kube.put("machinedeployments", { ...machineDeployment({ metadata: { generation: 2 } }), status: {} });
  const waiting = await inActivity(() => publishDesired(publisher(kube), { pool }));
  equal(waiting.seen.state === "Present" && waiting.seen.desired.settled, false);
  equal(waiting.published, null);
  kube.remove("machinedeployments", "pool", "fleet");
  const gone = await inActivity(() => publishDesired(publisher(kube), { pool }));
  deepEqual([gone.seen, gone.published, gone.pool], [{ state: "Gone" }, null, null]);
  equal(kube.get(...bootstrap), undefined);
});

Deno.test("publishDesired: fails as GenerationStale, and writes nothing, when another revision is desired", async () => {
  const kube = await publishingKube();
  kube.put("machinedeployments", machineDeployment({ annotations: { [revisionKey]: "2" } }));
  const order = { pool, revision: "1" };
  await rejects(inActivity(() => publishDesired(publisher(kube), order)), { type: "GenerationStale" });
  equal(kube.get(...bootstrap), undefined);
});
