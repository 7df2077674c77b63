import { deepEqual, equal, rejects } from "node:assert/strict";
import { useCloud } from "../../../../support/staged_cluster.ts";
import { refused } from "../../../../../activities/failures.ts";
import { hashOf } from "../../../../../activities/node_version/version_release.ts";
import { inActivity } from "../../../../support/activity_context.ts";
import { GroupInMemory, next, pool, version } from "../../../../support/group_in_memory.ts";

const order = { pool, revision: "v2" };
const released = (digest: string, stage = "Workers"): { stage: string; digest: string } => ({ stage, digest });
const groupId = "projects/p/groups/workers";

function bootsOf({ cloud }: GroupInMemory): string | undefined {
  return cloud.group(groupId)?.boots.fields.image;
}

function imageOf({ kube }: GroupInMemory): unknown {
  return (kube.get("scalinggroups", "workers")?.["status"] as { imageReference?: string } | undefined)?.imageReference;
}

Deno.test("S1, S2 boots: a group boots the released image, and its object shows that", async () => {
  const group = new GroupInMemory();
  for (const asked of [version, next]) {
    group.ask(asked, released(hashOf(asked)));
    const { news } = await group.backend.boots?.publish(order) ?? {};
    deepEqual([news, bootsOf(group), imageOf(group)], ["Published", asked.image, asked.image]);
  }
});

Deno.test("boots: refuses a group when the cloud refuses the token of its largest order number, before the template of the group changes", async () => {
  const group = new GroupInMemory();
  const asked: string[] = [];
  const driver = await group.driver();
  const checkToken = ({ token }: { token: string }): void => {
    asked.push(token);
    throw refused("CloudRefused", "too long");
  };
  useCloud(group.client, () => Promise.resolve({ ...driver, checkToken }));
  group.ask(next, released(hashOf(next)));
  await rejects(async () => await group.backend.boots?.publish(order), { type: "CloudRefused", message: "too long" });
  deepEqual([asked, group.cloud.group(groupId)?.templates.length], [["workers-new-999"], 1]);
});

Deno.test("S3 boots: makes no template for a group that already boots the image", async () => {
  const group = new GroupInMemory();
  group.ask(version, released(hashOf(version)));
  await group.backend.boots?.publish(order);
  equal((await group.backend.boots?.publish(order))?.news, "None");
  equal(group.cloud.group(groupId)?.templates.length, 1);
});

for (
  const [what, fence] of [
    ["no version is released", undefined],
    ["another version is released", released(hashOf(version))],
    ["the desired version is released only to control planes", released(hashOf(next), "ControlPlane")],
  ] as const
) {
  Deno.test(`boots: a group keeps its image while ${what}`, async () => {
    const group = new GroupInMemory();
    group.ask(version, released(hashOf(version)));
    await group.backend.boots?.publish(order);
    group.ask(next, fence);
    const wanted = await group.backend.wanted(pool, { profileNamespace: "" });
    equal(wanted.state === "Present" && wanted.desired.templateHash, hashOf(version));
    await group.backend.boots?.publish(order);
    equal(bootsOf(group), version.image);
  });
}

Deno.test("K17 boots: after its release has ended, a group boots new machines with the image that Ostler set, although another client changed the template", async () => {
  const group = new GroupInMemory();
  group.ask(next, released(hashOf(next)));
  await group.backend.boots?.publish(order);
  group.ask(next);
  const inCloud = group.cloud.group(groupId);
  if (inCloud) group.cloud.useTemplate(inCloud, group.cloud.addTemplate(inCloud, { image: "somebody's" }).id);
  await group.backend.orders.admit({ pool, machine: "workers-new-1", victim: "workers-1" });
  deepEqual(group.cloud.instances().map(({ template }) => template.fields.image).at(-1), next.image);
});

Deno.test("boots: a cloud group with two ScalingGroup objects adopts no image, because each object would have its own budget", async () => {
  const group = new GroupInMemory();
  const object = group.kube.get("scalinggroups", "workers");
  const rival = { ...object?.["spec"] as object, groupId: groupId.toUpperCase() };
  group.ask(version, released(hashOf(version)));
  await group.backend.boots?.publish(order);
  group.kube.put("scalinggroups", { metadata: { name: "again", uid: "again" }, spec: rival });
  equal((await group.backend.boots?.publish(order))?.news, "None", "Expected the adopted image to stay");
  group.ask(next, released(hashOf(next)));
  const twice = { type: "GroupClaimedTwice", message: /"again" names the same cloud group/ };
  await rejects(async () => await group.backend.boots?.publish(order), twice);
  equal(bootsOf(group), version.image);
});

Deno.test("K17 boots: restores the released image before an order when another client has changed the template of the group", async () => {
  const group = new GroupInMemory();
  group.ask(next, released(hashOf(next)));
  await group.backend.boots?.publish(order);
  const inCloud = group.cloud.group(groupId);
  if (inCloud) group.cloud.useTemplate(inCloud, group.cloud.addTemplate(inCloud, { image: "somebody's" }).id);
  await group.backend.orders.admit({ pool, machine: "workers-new-1", victim: "workers-1" });
  equal(bootsOf(group), next.image);
  equal(group.cloud.instances().at(-1)?.template.fields.image, next.image);
});

Deno.test("boots: rolls a group back to the previous template by its ID, until another image is released", async () => {
  const group = new GroupInMemory();
  group.ask(version, released(hashOf(version)));
  await group.backend.boots?.publish(order);
  const good = group.cloud.group(groupId)?.boots.id;
  group.ask(next, released(hashOf(next)));
  await group.backend.boots?.publish(order);
  const { namespace, name } = pool;
  const lastGood = { templateHash: hashOf(version), specHash: hashOf(version), revision: "v1", image: version.image };
  group.kube.put("rollouts", {
    metadata: { namespace, name },
    status: { lastGood: { ...lastGood, kubelet: "", configDigest: "" } },
  });
  const back = { pool, by: "ann", reason: "it is bad" };
  deepEqual(await inActivity(() => group.backend.restore(back, { profileNamespace: "" })), { changed: true });
  await group.backend.boots?.publish(order);
  equal(group.cloud.group(groupId)?.boots.id, good);
  const third = { ...next, image: "image-3" };
  group.ask(third, released(hashOf(third)));
  await group.backend.boots?.publish(order);
  equal(bootsOf(group), "image-3");
});

Deno.test("fault boots: ignores components on a Node that cannot be the name of a ConfigMap, because the API server refuses annotations above 256 KiB", async () => {
  const group = new GroupInMemory();
  const [first] = group.cloud.instances();
  group.join(first?.providerId ?? "", { ...version, components: "x".repeat(250_000) });
  group.ask(next, released(hashOf(next)));
  await group.backend.boots?.publish(order);
  const former = group.kube.get("scalinggroups", "workers")?.metadata.annotations?.["ostler.dev/booted-before"] ?? "{}";
  equal(JSON.parse(former).components, version.components);
});

Deno.test("boots: refuses to roll back a group without a last good template", async () => {
  const group = new GroupInMemory();
  const asked = { pool, by: "ann", reason: "" };
  await rejects(group.backend.restore(asked, { profileNamespace: "" }), { type: "LastGoodMissing" });
});

Deno.test("boots: refuses an order whose token belongs to an earlier machine", async () => {
  const group = new GroupInMemory();
  group.ask(next, released(hashOf(next)));
  const inCloud = group.cloud.group(groupId);
  const old = inCloud && group.cloud.order(inCloud, "workers-new-1");
  if (old) Object.assign(old, { since: "1960-01-01T00:00:00Z", state: "Terminated" });
  await rejects(group.backend.orders.admit({ pool, machine: "workers-new-1", victim: "workers-1" }), {
    type: "CloudRefused",
  });
});
