/**
 * How a new machine joins: what Ostler waits for, what fails immediately, and what the new node takes over from the old
 * one.
 */
import { deepEqual, equal, match } from "node:assert/strict";
import { hashOf } from "../../../../../activities/node_version/version_release.ts";
import { awaitMachinesJoined } from "../../../../../activities/pool/await_joined.ts";
import type { JoinVerdict, Unseen } from "../../../../../workflows/contracts/mod.ts";
import type { CloudInstance } from "../../../../../deploy/local/cloud/groups/group_cloud.ts";
import { removalName } from "../../../../../activities/backends/scaling_group/records.ts";
import { isOld } from "../../../../../activities/backends/scaling_group/old_records.ts";
import { inActivity } from "../../../../support/activity_context.ts";
import { GroupInMemory, next, pool, version } from "../../../../support/group_in_memory.ts";

const machine = "workers-new-1";
const components = "constellation.edgeless.systems/kubernetes-components";

/** Orders one machine to replace the first of three. */
async function ordered(): Promise<{ group: GroupInMemory; instance: CloudInstance }> {
  const group = new GroupInMemory();
  group.ask(next, { stage: "Workers", digest: hashOf(next) });
  const donor = group.kube.get("nodes", "workers-1");
  Object.assign(donor?.metadata ?? {}, { labels: { team: "a", "kubernetes.io/arch": "x" } });
  Object.assign(donor?.["spec"] ?? {}, { taints: [{ key: "gpu", value: "yes", effect: "NoSchedule" }] });
  await group.backend.orders.admit({ pool, machine, victim: "workers-1" });
  const instance = group.cloud.instances().at(-1);
  if (!instance) throw new Error("Failed to set up the group: nothing was ordered");
  return { group, instance };
}

/** Waits for the machine to join; all deadlines are `ms` from now. */
function waitFor(group: GroupInMemory, ms: number): Promise<JoinVerdict | Unseen> {
  const until = Date.now() + ms;
  const deadlines = { instance: until, address: until, registered: until, ready: until };
  return inActivity(() => awaitMachinesJoined(group.client, { pool, kubelet: "", machines: [{ machine, deadlines }] }));
}

function failureIn(verdict: JoinVerdict | Unseen): { rung: string; evidence: string } {
  const [failed] = "failed" in verdict ? verdict.failed : [];
  return { rung: failed?.rung ?? "none", evidence: failed?.evidence ?? "" };
}

Deno.test("K13 joining: fails at once when the cloud reports the machine as failed", async () => {
  const { group, instance } = await ordered();
  group.cloud.set(instance.providerId, { state: "Failed", trouble: "" });
  const { rung, evidence } = failureIn(await waitFor(group, 3_600_000));
  deepEqual([rung, evidence.split(";")[0]], ["instance", "the cloud reports that the instance failed"]);
});

Deno.test("K5 joining: a node without the annotation of its Kubernetes components has not joined, and the failure names that annotation", async () => {
  const { group, instance } = await ordered();
  group.join(instance.providerId, next);
  delete group.kube.get("nodes", instance.node)?.metadata.annotations?.[components];
  const { rung, evidence } = failureIn(await waitFor(group, 50));
  equal(rung, "ready");
  match(
    evidence,
    new RegExp(`node "${instance.node}" does not have the annotation that names its Kubernetes components`),
  );
});

Deno.test("fault G1: a node joins without any annotation of components if the NodeVersion names none", async () => {
  const bare = { image: "image-2", components: "" };
  const group = new GroupInMemory();
  group.ask(bare, { stage: "Workers", digest: hashOf(bare) });
  await group.backend.orders.admit({ pool, machine, victim: "workers-1" });
  const instance = group.cloud.instances().at(-1);
  group.join(instance?.providerId ?? "", bare);
  delete group.kube.get("nodes", instance?.node ?? "")?.metadata.annotations?.[components];
  const verdict = await waitFor(group, 3_600_000);
  deepEqual("joined" in verdict && verdict.joined.map((each) => each.machine), [machine]);
  const { members, templateHash } = await group.backend.observe(pool);
  const joined = members.find(({ node }) => node === instance?.node);
  deepEqual([joined?.phase, joined?.templateHash], ["Ready", templateHash]);
});

Deno.test("K10 joining: an order without capacity fails with the message of the cloud", async () => {
  const group = new GroupInMemory({ capacity: 3 });
  group.ask(next, { stage: "Workers", digest: hashOf(next) });
  await group.backend.orders.admit({ pool, machine, victim: "workers-1" });
  const { rung, evidence } = failureIn(await waitFor(group, 50));
  equal(rung, "instance");
  match(evidence, /no capacity: the cloud in memory reports: the capacity of 3 instances is exhausted/);
  equal(group.cloud.group("projects/p/groups/workers")?.size, 3);
});

Deno.test("K25 joining: a Ready new machine takes over labels and taints of the old node before it counts as joined", async () => {
  const { group, instance } = await ordered();
  group.join(instance.providerId, next);
  const verdict = await waitFor(group, 3_600_000);
  deepEqual("joined" in verdict && verdict.joined.map(({ node }) => node), [instance.node]);
  const heir = group.kube.get("nodes", instance.node);
  equal(heir?.metadata.labels?.["team"], "a");
  equal(heir?.metadata.labels?.["kubernetes.io/arch"], undefined);
  deepEqual((heir?.["spec"] as { taints: object[] }).taints, [{ key: "gpu", value: "yes", effect: "NoSchedule" }]);
  equal(heir?.metadata.annotations?.["ostler.dev/heir-of"], "workers-1");
});

Deno.test("K11 joining: the group replaces a terminated new machine, and keeps its size", async () => {
  const { group, instance } = await ordered();
  const wanted = async (): Promise<number> => {
    const seen = await group.backend.wanted(pool, { profileNamespace: "" });
    return seen.state === "Present" ? seen.desired.replicas : 0;
  };
  group.cloud.remove(instance.providerId, false);
  equal(await wanted(), 3);
  for (let nth = 0; nth < 2; nth++) await group.backend.orders.release({ pool, machine });
  equal(await wanted(), 3);
  group.settle();
  equal(await group.backend.seeOff({ pool, machine }), undefined);
  equal(await wanted(), 3);
  const { members } = await group.backend.observe(pool);
  deepEqual(
    members.filter(({ phase }) => phase !== "Held").length,
    4,
    "Expected three old machines and the one that the group made",
  );
  await group.backend.orders.release({ pool, machine: "workers-1" });
  group.settle();
  await group.backend.seeOff({ pool, machine: "workers-1" });
  deepEqual([await wanted(), group.cloud.group("projects/p/groups/workers")?.size], [3, 3]);
  equal(group.kube.all("pendingnodes").length, 0);
});

Deno.test("K1 joining: a new machine that was ordered for an earlier target is itself outdated", async () => {
  const { group, instance } = await ordered();
  const third = { ...next, image: "image-3" };
  group.ask(third, { stage: "Workers", digest: hashOf(third) });
  group.join(instance.providerId, next);
  const { members } = await group.backend.observe(pool);
  const old = members.filter(({ templateHash }) => templateHash !== hashOf(third)).map(({ id }) => id);
  deepEqual(old, ["workers-1", "workers-2", "workers-3", machine]);
  await group.backend.orders.release({ pool, machine });
  group.settle();
  await group.backend.seeOff({ pool, machine });
  equal(group.cloud.group("projects/p/groups/workers")?.size, 3);
});

Deno.test("K4 removal: a PendingNode that lost its annotations is recognized as a removal by its name", async () => {
  const { group, instance } = await ordered();
  group.join(instance.providerId, next);
  await group.backend.orders.release({ pool, machine: "workers-1" });
  const record = group.kube.get("pendingnodes", "workers.workers-1.going");
  if (record) record.metadata.annotations = {};
  const { members } = await group.backend.observe(pool);
  equal(members.find(({ id }) => id === "workers-1")?.phase, "Leaving");
  equal(record && isOld(record as unknown as Parameters<typeof isOld>[0]), false);
  group.settle();
  await group.backend.seeOff({ pool, machine: "workers-1" });
  equal(group.kube.get("pendingnodes", "workers.workers-1.going"), undefined);
});

Deno.test("removal: a record that names an instance of another group removes nothing", async () => {
  const group = new GroupInMemory();
  group.ask(version, { stage: "Workers", digest: hashOf(version) });
  group.cloud.create({
    ...{ id: "other", name: "other", autoscalerName: "other", role: "Worker", min: 1, max: 2, size: 1, zones: ["a"] },
    template: { image: "image-1" },
  });
  const foreign = group.cloud.instances("other")[0]?.providerId ?? "";
  group.kube.put("pendingnodes", {
    metadata: { name: "mean", annotations: { "ostler.dev/member": "mean", "ostler.dev/shrinks": "true" } },
    spec: { providerID: foreign, groupID: "projects/p/groups/workers", goal: "Leave" },
  });
  await group.backend.seeOff({ pool, machine: "mean" }).then(
    () => Promise.reject(new Error("Expected a refusal")),
    ({ type }: { type?: string }) => equal(type, "CloudRefused"),
  );
  equal(group.cloud.instance(foreign)?.state, "Creating");
});

/** Puts a record that names a machine of no group, as a writer of PendingNodes could, and the Node of that machine. */
function forged(group: GroupInMemory, annotations: Record<string, string>, labels: Record<string, string>): void {
  const providerID = "gce://p/zone-a/alone";
  group.kube.put("nodes", { metadata: { name: "alone", annotations, labels }, spec: { providerID } });
  group.kube.put("pendingnodes", {
    metadata: { name: "mean", annotations: { "ostler.dev/member": "mean", "ostler.dev/shrinks": "true" } },
    spec: { providerID, groupID: "projects/p/groups/workers", goal: "Leave" },
  });
}

const ofGroup = "constellation.edgeless.systems/scaling-group-id";
const controlPlane = { "node-role.kubernetes.io/control-plane": "" };
const forgeries: [what: string, annotations: Record<string, string>, labels: Record<string, string>][] = [
  ["a machine of no group", {}, {}],
  ["a machine of another group", { [ofGroup]: "projects/p/groups/other" }, {}],
  ["a control plane, in a group of workers", { [ofGroup]: "projects/p/groups/workers" }, controlPlane],
];
for (const [what, annotations, labels] of forgeries) {
  Deno.test(`removal: a record that names ${what} deletes no Node`, async () => {
    const group = new GroupInMemory();
    group.ask(version, { stage: "Workers", digest: hashOf(version) });
    forged(group, annotations, labels);
    equal(await group.backend.seeOff({ pool, machine: "mean" }), undefined);
    deepEqual([group.kube.get("nodes", "alone") !== undefined, group.kube.get("pendingnodes", "mean")], [
      true,
      undefined,
    ]);
  });
}

for (const named of ["", "projects/p/groups/other", "Projects/P/groups/WORKERS"]) {
  Deno.test(`removal: deletes the Node of a deleted machine that has "${named}" as the group in its annotation`, async () => {
    const { group, instance } = await ordered();
    group.join(instance.providerId, next, named === "" ? {} : { annotations: { [ofGroup]: named } });
    await group.backend.orders.release({ pool, machine });
    group.settle();
    equal(await group.backend.seeOff({ pool, machine }), undefined);
    equal(group.kube.get("nodes", instance.node), undefined);
  });
}

Deno.test("removal: deletes the Node of a machine that was deleted outside of Ostler, if the Node names the group", async () => {
  const { group, instance } = await ordered();
  group.join(instance.providerId, next, { annotations: { [ofGroup]: "projects/p/groups/workers" } });
  group.cloud.remove(instance.providerId, false);
  group.settle();
  await group.backend.orders.release({ pool, machine });
  await group.backend.seeOff({ pool, machine });
  equal(group.kube.get("nodes", instance.node), undefined);
});

Deno.test("removal: the name of its record has at most 253 characters, and a shorter name is unchanged", () => {
  equal(removalName("workers", "Workers-1"), "workers.workers-1.going");
  const fits = "g".repeat(119);
  equal(removalName(fits, `${fits}-new-10`), `${fits}.${fits}-new-10.going`);
  const names = [121, 200, 239].flatMap((length) => {
    const name = "g".repeat(length);
    return [removalName(name, `${name}-new-10`), removalName(name, `${name}-new-11`)];
  });
  deepEqual(names.filter((name) => name.length > 253 || !/^[a-z0-9]([-.a-z0-9]*[a-z0-9])?$/.test(name)), []);
  equal(new Set(names).size, names.length);
});
