import { deepEqual, equal, ok } from "node:assert/strict";
import { ensurePoolCleanedUp } from "../../../../activities/config/clean_up.ts";
import { publishConfig } from "../../../../activities/config/publish_config.ts";
import { renderConfig } from "../../../support/rendered.ts";
import { closeTemplateEngines } from "../../../../profiles/mod.ts";
import { FakeKube } from "../../../support/fake_kube.ts";
import { hold, holder, machine, machineDeployment, mark, pool } from "../../../support/machine_objects.ts";
import { publisher, publishingKube } from "../../../support/publishing_kube.ts";

Deno.test.afterAll(() => closeTemplateEngines());

/** Returns a published pool that is being deleted, with a held machine. */
async function deletedPool(): Promise<FakeKube> {
  const kube = await publishingKube();
  const { configDigest } = await renderConfig(publisher(kube), pool);
  await publishConfig(publisher(kube), { pool, revision: "1", configDigest });
  kube.put("rollouts", { metadata: { ...pool }, status: {} });
  kube.put("machines", machine("a", { annotations: { [hold]: holder, [mark]: holder } }));
  const deployment = kube.get("machinedeployments", "pool", "fleet");
  kube.put("machinedeployments", {
    ...deployment,
    metadata: { ...deployment?.metadata, name: "pool", deletionTimestamp: "2026-01-01T00:00:00Z" },
  });
  kube.writes.length = 0;
  return kube;
}

Deno.test("ensurePoolCleanedUp: removes all objects that Ostler made for a pool, releases its machines, and removes the finalizer last", async () => {
  const kube = await deletedPool();
  await ensurePoolCleanedUp(publisher(kube), pool);
  // The seed of random text does not belong to a pool.
  deepEqual(kube.all("secrets").map(({ metadata }) => metadata.name), ["ostler-seed"]);
  for (const plural of ["operatingsystemconfigs", "roles", "rolebindings", "serviceaccounts", "rollouts"]) {
    deepEqual(kube.all(plural).map(({ metadata }) => metadata.name), [], plural);
  }
  deepEqual(kube.all("configmaps").map(({ metadata }) => metadata.namespace), ["kube-public"]);
  deepEqual(kube.get("machines", "a", "fleet")?.metadata.annotations, {});
  equal(kube.get("machinedeployments", "pool", "fleet"), undefined);
  equal(kube.writes.at(-1), "patch machinedeployments fleet/pool");
});

Deno.test("ensurePoolCleanedUp: removes a boot report to which a machine has added a finalizer", async () => {
  const kube = await deletedPool();
  const metadata = { namespace: "cloud-init-settings", name: "ostler-boot-pool-fleet", finalizers: ["example.com/x"] };
  kube.put("configmaps", { metadata });
  await ensurePoolCleanedUp(publisher(kube), pool);
  equal(kube.get("configmaps", metadata.name, metadata.namespace), undefined);
});

Deno.test("ensurePoolCleanedUp: gives back the slots of the pool in the shared budget", async () => {
  const kube = await deletedPool();
  const metadata = { namespace: "kube-system", name: "ostler-budget" };
  kube.put("configmaps", { metadata, data: { fleet_pool_a: "2026-01-01T00:00:00Z", fleet_other_a: "" } });
  await ensurePoolCleanedUp(publisher(kube), pool);
  deepEqual(kube.get("configmaps", "ostler-budget", "kube-system")?.["data"], { fleet_other_a: "" });
});

Deno.test("ensurePoolCleanedUp: leaves the Rollout and the slots of a pool of another kind with the same name alone", async () => {
  const name = "node-pool.gpu";
  for (const [kind, owner] of [["MachineDeployment", "NodePool"], ["NodePool", "MachineDeployment"]] as const) {
    for (const isOwn of [false, true]) {
      const kube = new FakeKube();
      const ownerReferences = [{ apiVersion: "v1", kind: isOwn ? kind : owner, name, uid: "uid" }];
      kube.put("rollouts", { metadata: { namespace: "fleet", name, ownerReferences }, status: { paused: true } });
      const metadata = { namespace: "kube-system", name: "ostler-budget" };
      kube.put("configmaps", { metadata, data: { "fleet_node-pool.gpu_a": "2026-01-01T00:00:00Z" } });
      await ensurePoolCleanedUp(publisher(kube), { kind, namespace: "fleet", name });
      const slots = kube.get("configmaps", "ostler-budget", "kube-system")?.["data"];
      deepEqual([kube.all("rollouts").length, Object.keys(slots ?? {}).length], isOwn ? [0, 0] : [1, 1]);
    }
  }
});

Deno.test("ensurePoolCleanedUp: deletes the bootstrap secret before it admits a held new machine", async () => {
  const kube = await deletedPool();
  await ensurePoolCleanedUp(publisher(kube), pool);
  const at = (write: string): number => kube.writes.indexOf(write);
  ok(at("delete secrets cloud-init-settings/pool-fleet-bootstrap-config") < at("patch machines fleet/a"));
});

Deno.test("ensurePoolCleanedUp: succeeds a second time, and for a deleted pool", async () => {
  const kube = await deletedPool();
  await ensurePoolCleanedUp(publisher(kube), pool);
  await ensurePoolCleanedUp(publisher(kube), pool);
  await ensurePoolCleanedUp(publisher(new FakeKube()), pool);
});

Deno.test("ensurePoolCleanedUp: leaves the objects of another pool with the same names alone", async () => {
  const kube = await deletedPool();
  const annotations = { "ostler.dev/machine-deployment": "fleet-a/b" };
  const metadata = { namespace: "cloud-init-settings", name: "pool-fleet-bootstrap-config", annotations };
  kube.put("secrets", { metadata, data: {} });
  await ensurePoolCleanedUp(publisher(kube), pool);
  deepEqual(kube.all("secrets").map(({ metadata: { name } }) => name), [
    "ostler-seed",
    "pool-fleet-bootstrap-config",
  ]);
});

Deno.test("ensurePoolCleanedUp: keeps the finalizers of other controllers", async () => {
  const kube = await deletedPool();
  const finalizers = ["foregroundDeletion", "kubermatic.io/cleanup-operating-system-configs"];
  const { metadata, ...rest } = machineDeployment();
  kube.put("machinedeployments", { ...rest, metadata: { ...metadata, finalizers } });
  await ensurePoolCleanedUp(publisher(kube), pool);
  deepEqual(kube.get("machinedeployments", "pool", "fleet")?.metadata.finalizers, ["foregroundDeletion"]);
});

Deno.test("ensurePoolCleanedUp: succeeds when the selector matches no machines", async () => {
  const kube = await deletedPool();
  const { spec, ...rest } = machineDeployment();
  kube.put("machinedeployments", { ...rest, spec: { ...spec as object, selector: {} } });
  await ensurePoolCleanedUp(publisher(kube), pool);
  equal(kube.get("machines", "a", "fleet")?.metadata.annotations?.[hold], holder);
});
