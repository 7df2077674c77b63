import { deepEqual, equal, match, rejects } from "node:assert/strict";
import { restoreLastGood } from "../../../../../activities/backends/machine_controller/last_good.ts";
import { inActivity } from "../../../../support/activity_context.ts";
import { FakeKube } from "../../../../support/fake_kube.ts";
import {
  machineDeployment,
  machineSet,
  pool,
  providerConfig,
  revisionKey,
} from "../../../../support/machine_objects.ts";

const goodImage = "docker://example/ubuntu:1";
const badImage = "docker://example/ubuntu:2";

const lastGood = {
  ...{ templateHash: "hash-1", revision: "1", image: goodImage, kubelet: "1.35.3", configDigest: "d", specHash: "" },
};

function template(image: string): Record<string, unknown> {
  const labels = { pool: "pool" };
  const value = { ...providerConfig(image), network: null };
  return { metadata: { labels }, spec: { versions: { kubelet: "1.35.3" }, providerSpec: { value } } };
}

/** Returns a pool at revision 2 whose last good template still exists in a MachineSet. */
function badPool(status: Record<string, unknown> = { lastGood }): FakeKube {
  const kube = new FakeKube();
  const bad = { ...template(badImage), extra: "of the bad template" };
  const spec = { replicas: 3, selector: { matchLabels: { pool: "pool" } }, template: bad };
  kube.put("machinedeployments", machineDeployment({ annotations: { [revisionKey]: "2" }, spec }));
  const labels = { pool: "pool", "machine-template-hash": "hash-1" };
  const numbered = { ...template(goodImage), metadata: { creationTimestamp: null, labels } };
  kube.put("machinesets", { ...machineSet("1", "hash-1"), spec: { template: numbered } });
  kube.put("machinesets", machineSet("2", "hash-2"));
  kube.put("rollouts", { metadata: { ...pool }, status });
  return kube;
}

function restore(kube: FakeKube, activityId = "1"): Promise<{ changed: boolean }> {
  const order = { pool, by: "ann", reason: "it does not boot" };
  const restorer = { kube: kube.client, profileNamespace: "kube-system" };
  return inActivity(() => restoreLastGood(restorer.kube, order, restorer), { activityId });
}

function templateOf(kube: FakeKube): unknown {
  return (kube.get("machinedeployments", "pool", "fleet")?.["spec"] as { template: unknown }).template;
}

Deno.test("restoreLastGood: restores the whole template of the last good MachineSet, without the label that machine-controller adds", async () => {
  const kube = badPool();
  deepEqual(await restore(kube), { changed: true });
  deepEqual(templateOf(kube), {
    ...template(goodImage),
    metadata: { creationTimestamp: null, labels: { pool: "pool" } },
  });
  const { metadata, spec } = kube.get("machinedeployments", "pool", "fleet") ?? machineDeployment();
  deepEqual([metadata?.annotations, (spec as { replicas: number }).replicas], [
    ...[{ "k8c.io/operating-system-profile": "osp-ubuntu", [revisionKey]: "2" }, 3],
  ]);
});

Deno.test("restoreLastGood: does nothing the second time", async () => {
  const kube = badPool();
  await restore(kube);
  kube.writes.length = 0;
  deepEqual(await restore(kube, "2"), { changed: false });
  deepEqual(kube.writes, []);
});

Deno.test("restoreLastGood: rolls back again when the bad template is applied again", async () => {
  const kube = badPool();
  await restore(kube);
  const applied = kube.get("machinedeployments", "pool", "fleet") ?? machineDeployment();
  kube.put("machinedeployments", { ...applied, spec: { ...applied["spec"] as object, template: template(badImage) } });
  deepEqual(await restore(kube, "2"), { changed: true });
});

Deno.test("restoreLastGood: records in an Event what was rolled back, and why", async () => {
  const kube = badPool();
  await restore(kube);
  const [event] = kube.all("events");
  deepEqual([event?.["reason"], event?.["message"]], [
    ...["LastGoodRestored", "Rolled back to the template of revision 1, by ann: it does not boot"],
  ]);
});

Deno.test("restoreLastGood: writes as field manager ostler, and only over the version of the MachineDeployment that it has read", async () => {
  const kube = badPool();
  const { client } = kube;
  const custom = client.custom;
  const managers: unknown[] = [];
  const watched = {
    ...custom,
    patchNamespacedCustomObject: (request: { fieldManager?: string }, ...rest: never[]) => {
      managers.push(request.fieldManager);
      return custom.patchNamespacedCustomObject(request as never, ...rest);
    },
  };
  let tries = 0;
  kube.onRequest = (request) => {
    if (!request.startsWith("patch machinedeployments") || tries++ > 0) return;
    kube.put("machinedeployments", { ...kube.get("machinedeployments", "pool", "fleet") ?? machineDeployment() });
  };
  const restorer = { kube: { ...client, custom: watched as never }, profileNamespace: "kube-system" };
  await inActivity(() => restoreLastGood(restorer.kube, { pool, by: "policy", reason: "r" }, restorer));
  deepEqual([managers, tries], [["ostler", "ostler"], 2]);
  deepEqual((templateOf(kube) as { spec: unknown }).spec, template(goodImage)["spec"]);
});

Deno.test("restoreLastGood: leaves repeated conflicts to the next attempt", async () => {
  const kube = badPool();
  kube.onRequest = (request) => {
    if (!request.startsWith("patch machinedeployments")) return;
    kube.put("machinedeployments", { ...kube.get("machinedeployments", "pool", "fleet") ?? machineDeployment() });
  };
  await rejects(restore(kube), { type: "ApiUnavailable", nonRetryable: false });
});

const bad = { specHash: "hash-2 inputs", templateHash: "hash-2" };

/** Returns a pool whose bad template also has a MachineSet. */
function numberedPool(): FakeKube {
  const kube = badPool();
  const labels = { pool: "pool", "machine-template-hash": "hash-2" };
  const numbered = { ...template(badImage), extra: "of the bad template", metadata: { labels } };
  kube.put("machinesets", { ...machineSet("2", "hash-2"), spec: { template: numbered } });
  return kube;
}

function restoreFrom(kube: FakeKube, activityId = "1"): Promise<{ changed: boolean }> {
  const order = { pool, by: "ann", reason: "it does not boot", bad };
  const restorer = { kube: kube.client, profileNamespace: "kube-system" };
  return inActivity(() => restoreLastGood(restorer.kube, order, restorer), { activityId });
}

Deno.test("restoreLastGood: replaces the bad template that the order names, and does nothing the second time", async () => {
  const kube = numberedPool();
  deepEqual([await restoreFrom(kube), await restoreFrom(kube, "2")], [{ changed: true }, { changed: false }]);
  deepEqual((templateOf(kube) as { spec: unknown }).spec, template(goodImage)["spec"]);
});

Deno.test("restoreLastGood: replaces the bad template that the order names, even if its MachineSet leaves out an empty field", async () => {
  const kube = numberedPool();
  const deployment = kube.get("machinedeployments", "pool", "fleet") ?? machineDeployment();
  const bad = template(badImage);
  const written = { ...bad, extra: "of the bad template", spec: { ...bad["spec"] as object, taints: [] } };
  kube.put("machinedeployments", { ...deployment, spec: { ...deployment["spec"] as object, template: written } });
  deepEqual(await restoreFrom(kube), { changed: true });
});

Deno.test("restoreLastGood: replaces the bad template that the order names, even if machine-controller has not observed a change of the replicas", async () => {
  const kube = numberedPool();
  const deployment = kube.get("machinedeployments", "pool", "fleet") ?? machineDeployment();
  kube.put("machinedeployments", { ...deployment, metadata: { ...deployment.metadata, generation: 2 } });
  deepEqual(await restoreFrom(kube), { changed: true });
});

Deno.test("restoreLastGood: keeps a template that a user applied after the bad one, also during the rollback", async () => {
  const newest = template("docker://example/ubuntu:3");
  const apply = (kube: FakeKube): void => {
    const deployment = kube.get("machinedeployments", "pool", "fleet") ?? machineDeployment();
    const metadata = { ...deployment.metadata, generation: 2 };
    const spec = { ...deployment["spec"] as object, template: newest };
    kube.put("machinedeployments", { ...deployment, metadata, spec });
  };
  const before = numberedPool();
  apply(before);
  const during = numberedPool();
  during.onRequest = (request) => {
    if (!request.startsWith("patch machinedeployments")) return;
    during.onRequest = () => {};
    apply(during);
  };
  for (const kube of [before, during]) {
    deepEqual([await restoreFrom(kube), templateOf(kube), kube.all("events")], [{ changed: false }, newest, []]);
  }
});

Deno.test("restoreLastGood: refuses when the last good template is lost, and suggests a remedy", async () => {
  const forgotten = badPool();
  forgotten.remove("machinesets", "pool-hash-1", "fleet");
  const foreign = badPool();
  const ownerReferences = [{ kind: "MachineDeployment", name: "pool", uid: "other" }];
  const set = foreign.get("machinesets", "pool-hash-1", "fleet") ?? machineSet();
  foreign.put("machinesets", { ...set, metadata: { ...set.metadata, ownerReferences } });
  for (
    const [kube, state] of [[badPool({}), /none of its rollouts/], [forgotten, /was deleted/], [
      foreign,
      /was deleted/,
    ]] as const
  ) {
    await rejects(restore(kube), (error: Error & { type?: string; nonRetryable?: boolean }) => {
      deepEqual([error.type, error.nonRetryable], ["LastGoodMissing", true]);
      match(error.message, state);
      match(error.message, /"fleet\/pool".*apply the good spec by hand/);
      return true;
    });
    deepEqual(kube.writes, []);
  }
});

Deno.test("restoreLastGood: succeeds for a MachineDeployment that is deleted or being deleted", async () => {
  deepEqual(await restore(new FakeKube()), { changed: false });
  const kube = badPool();
  const { metadata, ...rest } = kube.get("machinedeployments", "pool", "fleet") ?? machineDeployment();
  kube.put("machinedeployments", { ...rest, metadata: { ...metadata, deletionTimestamp: "2026-01-01T00:00:00Z" } });
  deepEqual(await restore(kube), { changed: false });
  equal(kube.writes.length, 0);
});
