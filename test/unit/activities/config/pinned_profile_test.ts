import { deepEqual, equal, match, notEqual, ok, rejects } from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { publishConfig } from "../../../../activities/config/publish_config.ts";
import { renderPool } from "../../../../activities/config/render_config.ts";
import { restoreLastGood } from "../../../../activities/backends/machine_controller/last_good.ts";
import { readDesired } from "../../../../activities/pool/read_desired.ts";
import { ensureRolloutReported } from "../../../../activities/status/report_rollout.ts";
import { closeTemplateEngines } from "../../../../profiles/mod.ts";
import type { Desired, Quarantined, RolloutReport } from "../../../../workflows/contracts/mod.ts";
import { inActivity } from "../../../support/activity_context.ts";
import type { FakeKube } from "../../../support/fake_kube.ts";
import { machineDeployment, machineSet, pool } from "../../../support/machine_objects.ts";
import { publisher, publishingKube, putProfile } from "../../../support/publishing_kube.ts";

Deno.test.afterAll(() => closeTemplateEngines());

const maxPods = "v1.kubelet-config.machine-controller.kubermatic.io/MaxPods";
const keptName = "ostler-last-good-pool-fleet";

async function desiredOf(kube: FakeKube): Promise<Desired> {
  const seen = await readDesired(publisher(kube), pool);
  if (seen.state !== "Present") throw new Error(`Failed to read the desired state: the pool is ${seen.state}`);
  return seen.desired;
}

async function publish(kube: FakeKube): Promise<string> {
  const { digest: configDigest } = await renderPool(publisher(kube), pool);
  await publishConfig(publisher(kube), { pool, revision: "1", configDigest });
  return configDigest;
}

async function report(kube: FakeKube, given: Partial<RolloutReport> = {}): Promise<void> {
  const whole: RolloutReport = {
    ...{ phase: "Converged", reason: "r", message: "m", blockedReason: null, paused: false, pausedBy: null },
    ...{ quarantine: [], left: null, eta: null, plan: null, underway: [], conditions: [] },
    ...given,
  };
  await inActivity(() => ensureRolloutReported(kube.client, { pool, report: whole, events: [] }));
}

/** Publishes and converges, as a run does. */
async function converge(kube: FakeKube): Promise<string> {
  const configDigest = await publish(kube);
  const { specHash, templateHash, revision, image, kubelet } = await desiredOf(kube);
  await report(kube, { lastGood: { specHash, templateHash, revision, image, kubelet, configDigest } });
  return configDigest;
}

/** Returns a pool that converged with a profile built on a parent; then the parent changed for the worse. */
async function badProfile(): Promise<{ kube: FakeKube; good: string; before: Desired }> {
  const kube = await publishingKube();
  const { spec } = kube.get("machinedeployments", "pool", "fleet") ?? machineDeployment();
  kube.put("machinesets", { ...machineSet(), spec: { template: (spec as { template: object }).template } });
  putProfile(kube, { name: "osp-ubuntu", extends: { name: "base" } });
  putProfile(kube, {
    name: "base",
    bootstrap: "of the base",
    provisioning: "<%= JSON.stringify(it.kubeletSettings) %>",
  });
  const good = await converge(kube);
  const before = await desiredOf(kube);
  putProfile(kube, { name: "base", bootstrap: "of a worse base" });
  return { kube, good, before };
}

function restore(kube: FakeKube, activityId = "1"): Promise<{ changed: boolean }> {
  const order = { pool, by: "ann", reason: "it does not boot" };
  return inActivity(() => restoreLastGood(publisher(kube).kube, order, publisher(kube)), { activityId });
}

function pinOf(kube: FakeKube): unknown {
  return (kube.get("rollouts", "pool", "fleet")?.["status"] as { pin?: unknown }).pin;
}

Deno.test("restoreLastGood: pins the good profile with its parents until the live profile or a parent changes", async () => {
  const { kube, good, before } = await badProfile();
  notEqual(await publish(kube), good);
  const bad = await desiredOf(kube);
  notEqual(bad.specHash, before.specHash);
  deepEqual([await restore(kube), await restore(kube, "2")], [{ changed: true }, { changed: false }]);
  match(String(kube.all("events").at(-1)?.["message"]), /^Rolled back to the profile of revision 1, by ann/);
  equal(await publish(kube), good);
  const pinned = await desiredOf(kube);
  equal(pinned.specHash, before.specHash);
  notEqual(pinned.change, bad.change);
  equal(pinned.observed, bad.observed, "Expected no change, because `observed` depends on the live profile");
  putProfile(kube, { name: "base", bootstrap: "of a third base" });
  notEqual((await desiredOf(kube)).specHash, before.specHash);
  notEqual((await renderPool(publisher(kube), pool)).digest, good);
});

Deno.test("restoreLastGood: also pins the kubelet settings in the annotations of the MachineDeployment, and does not change the annotations", async () => {
  const { kube, good } = await badProfile();
  putProfile(kube, {
    name: "base",
    bootstrap: "of the base",
    provisioning: "<%= JSON.stringify(it.kubeletSettings) %>",
  });
  equal((await renderPool(publisher(kube), pool)).digest, good);
  const { metadata, ...rest } = kube.get("machinedeployments", "pool", "fleet") ?? machineDeployment();
  const annotations = { ...metadata.annotations, [maxPods]: "7" };
  kube.put("machinedeployments", { ...rest, metadata: { ...metadata, annotations } });
  notEqual(await publish(kube), good);
  await restore(kube);
  equal(await publish(kube), good);
  deepEqual(kube.get("machinedeployments", "pool", "fleet")?.metadata.annotations, annotations);
});

Deno.test("restoreLastGood: pins nothing while profile and settings are equal to the last good ones", async () => {
  const { kube } = await badProfile();
  putProfile(kube, {
    name: "base",
    bootstrap: "of the base",
    provisioning: "<%= JSON.stringify(it.kubeletSettings) %>",
  });
  deepEqual(await restore(kube), { changed: false });
  equal(pinOf(kube), undefined);
});

Deno.test("restoreLastGood: pins the last good profile while the profile that the order names as bad is desired, and pins nothing after a user has replaced the bad profile", async () => {
  const { kube, before } = await badProfile();
  const { specHash, templateHash } = await desiredOf(kube);
  const place = publisher(kube);
  const order = { pool, by: "ann", reason: "it does not boot", bad: { specHash, templateHash } };
  putProfile(kube, { name: "base", bootstrap: "of a fixed base" });
  deepEqual(await inActivity(() => restoreLastGood(place.kube, order, place)), { changed: false });
  equal(pinOf(kube), undefined);
  putProfile(kube, { name: "base", bootstrap: "of a worse base" });
  deepEqual(await inActivity(() => restoreLastGood(place.kube, order, place)), { changed: true });
  equal((await desiredOf(kube)).specHash, before.specHash);
});

Deno.test("restoreLastGood: refuses to roll back to a profile that was not kept", async () => {
  const { kube } = await badProfile();
  kube.remove("secrets", keptName, "cloud-init-settings");
  await rejects(restore(kube), {
    type: "LastGoodMissing",
    message: /profile and settings of revision 1 are not recorded/,
  });
  equal(pinOf(kube), undefined);
});

Deno.test("renderPool: never uses the bad profile when the pinned one is deleted", async () => {
  const { kube } = await badProfile();
  await restore(kube);
  kube.remove("secrets", keptName, "cloud-init-settings");
  await rejects(renderPool(publisher(kube), pool), { type: "LastGoodMissing", nonRetryable: true });
});

Deno.test("publishConfig: keeps two profiles, the last good one and the current one, and writes each once", async () => {
  const { kube, before } = await badProfile();
  const keys = (): string[] => Object.keys(kube.get("secrets", keptName, "cloud-init-settings")?.["data"] ?? {});
  const [good = ""] = keys();
  ok(before.specHash.endsWith(good));
  for (const bootstrap of ["second", "third"]) {
    putProfile(kube, { name: "base", bootstrap });
    await publish(kube);
    deepEqual([keys().length, keys().includes(good)], [2, true]);
  }
  kube.writes.length = 0;
  await publish(kube);
  deepEqual(kube.writes, []);
});

Deno.test("publishConfig: publishes a profile that is too large to keep", async () => {
  const kube = await publishingKube();
  putProfile(kube, { bootstrap: "one" });
  const { spec, ...rest } = kube.get("operatingsystemprofiles", "osp-ubuntu", "kube-system") ?? machineDeployment();
  // Random bytes cannot be compressed.
  const parameters = { motto: { description: randomBytes(500_000).toString("base64"), default: "x" } };
  kube.put("operatingsystemprofiles", { ...rest, spec: { ...spec as object, parameters } });
  await publish(kube);
  equal(kube.get("secrets", keptName, "cloud-init-settings"), undefined);
});

const held = (specHash: string): Quarantined => ({
  ...{ specHash, templateHash: "t", revision: "1", image: "i", kubelet: "k", by: "policy", reason: "r", since: 1 },
});

Deno.test("ensureRolloutReported: ends the pin when a person takes the change out of quarantine", async () => {
  const { kube } = await badProfile();
  const { specHash } = await desiredOf(kube);
  await restore(kube);
  await report(kube);
  ok(pinOf(kube), "Expected the pin to stay, because the change was not in quarantine before");
  await report(kube, { quarantine: [held(specHash)] });
  const others = Array.from({ length: 5 }, (_, nth) => held(`other ${nth}`));
  await report(kube, { quarantine: others });
  ok(pinOf(kube), "Expected the pin to stay, because older entries were only dropped");
  await report(kube, { quarantine: [held(specHash)] });
  await report(kube);
  equal(pinOf(kube), undefined);
  equal((await desiredOf(kube)).specHash, specHash);
});

Deno.test("ensureRolloutReported: ends the pin when another revision becomes the last good revision", async () => {
  const { kube } = await badProfile();
  await restore(kube);
  await converge(kube);
  ok(pinOf(kube), "Expected the pin to stay after converging on the pinned profile");
  putProfile(kube, { name: "base", bootstrap: "of a better base" });
  await converge(kube);
  equal(pinOf(kube), undefined);
});
