/** A group keeps its size, whatever is deleted, arrives late, or is read in between. */
import { deepEqual, equal, rejects } from "node:assert/strict";
import { useCloud } from "../../../../support/staged_cluster.ts";
import { unavailable } from "../../../../../activities/failures.ts";
import { hashOf } from "../../../../../activities/node_version/version_release.ts";
import type { CloudInstance } from "../../../../../deploy/local/cloud/groups/group_cloud.ts";
import { directCloud, GroupInMemory, next, pool, spec } from "../../../../support/group_in_memory.ts";

const [first, second] = ["workers-new-1", "workers-new-2"];

/** Orders one machine to replace the first of three. */
async function ordered(): Promise<{ group: GroupInMemory; newcomer: CloudInstance }> {
  const group = new GroupInMemory();
  group.ask(next, { stage: "Workers", digest: hashOf(next) });
  await group.backend.orders.admit({ pool, machine: first, victim: "workers-1" });
  const newcomer = group.cloud.instances().at(-1);
  if (!newcomer) throw new Error("Failed to set up the group: nothing was ordered");
  return { group, newcomer };
}

/** Orders like `ordered`, but ten minutes ago, when the other machines existed already. */
async function orderedLater(): ReturnType<typeof ordered> {
  const { group, newcomer } = await ordered();
  const record = group.kube.get("pendingnodes", first);
  Object.assign(record?.metadata ?? {}, { creationTimestamp: new Date(Date.now() - 600_000).toISOString() });
  return { group, newcomer };
}

async function wanted(group: GroupInMemory): Promise<number> {
  const seen = await group.backend.wanted(pool, { profileNamespace: "" });
  return seen.state === "Present" ? seen.desired.replicas : 0;
}

function sizeOf(group: GroupInMemory): number | undefined {
  return group.cloud.group(spec.id)?.size;
}

async function goes(group: GroupInMemory, machine: string): Promise<void> {
  await group.backend.orders.release({ pool, machine });
  group.settle();
  await group.backend.seeOff({ pool, machine });
}

for (const when of ["boots", "has joined"] as const) {
  Deno.test(`group size: if another client deletes the old machine while the new machine ${when}, the machine that the group creates instead counts as surplus`, async () => {
    const { group, newcomer } = await ordered();
    const join = async (): Promise<void> => {
      group.join(newcomer.providerId, next);
      await group.backend.welcome({ pool, machine: first });
    };
    if (when === "has joined") await join();
    group.cloud.remove(group.cloud.instances()[0]?.providerId ?? "", false);
    group.settle();
    if (when === "boots") await join();
    equal(await wanted(group), 3);
    const made = group.cloud.instances().at(-1)?.node ?? "";
    const { members } = await group.backend.observe(pool);
    const old = members.filter(({ templateHash }) => templateHash !== hashOf(next)).map(({ id }) => id);
    deepEqual(old, ["workers-2", "workers-3", made]);
    await goes(group, made);
    deepEqual([sizeOf(group), await wanted(group), group.kube.all("pendingnodes").length], [3, 3, 0]);
  });
}

for (const when of ["boots", "has joined"] as const) {
  Deno.test(`group size: if another client deletes the old machine and reduces the size while the new machine ${when}, no other machine counts as surplus`, async () => {
    const { group, newcomer } = await orderedLater();
    const join = async (): Promise<void> => {
      group.join(newcomer.providerId, next);
      await group.backend.welcome({ pool, machine: first });
    };
    if (when === "has joined") await join();
    group.cloud.remove(group.cloud.instances()[0]?.providerId ?? "", true);
    group.settle();
    deepEqual([sizeOf(group), await wanted(group)], [3, 3]);
    const { members } = await group.backend.observe(pool);
    const going = members.filter(({ phase }) => phase === "Leaving").map(({ id }) => id);
    deepEqual(going, ["workers-1"]);
    await goes(group, "workers-1");
    if (when === "boots") await join();
    deepEqual([sizeOf(group), await wanted(group), group.kube.all("pendingnodes").length], [3, 3, 0]);
  });
}

Deno.test("group size: if another client deletes the new machine and reduces the size, the old machine stays and gets another replacement", async () => {
  const { group, newcomer } = await orderedLater();
  group.cloud.remove(newcomer.providerId, true);
  group.settle();
  deepEqual([sizeOf(group), await wanted(group)], [3, 3]);
  await goes(group, first);
  await group.backend.orders.admit({ pool, machine: second, victim: "workers-1" });
  deepEqual([sizeOf(group), await wanted(group), group.kube.all("pendingnodes").length], [4, 3, 1]);
});

Deno.test("group size: the machine that the group creates instead of a deleted old machine still counts as surplus after the removal of the old machine has ended", async () => {
  const { group, newcomer } = await ordered();
  group.join(newcomer.providerId, next);
  await group.backend.welcome({ pool, machine: first });
  group.cloud.remove(group.cloud.instances()[0]?.providerId ?? "", false);
  await goes(group, "workers-1");
  equal(await wanted(group), 3);
  await goes(group, group.cloud.instances().at(-1)?.node ?? "");
  deepEqual([sizeOf(group), await wanted(group), group.kube.all("pendingnodes").length], [3, 3, 0]);
});

Deno.test("group size: an instance that the cloud lists after its order was cancelled is deleted, and the group gets its previous size", async () => {
  const { group } = await ordered();
  const record = group.kube.get("pendingnodes", first);
  Object.assign(record?.["spec"] ?? {}, { providerID: "", goal: "Leave" });
  equal(await wanted(group), 3);
  await group.backend.seeOff({ pool, machine: first });
  equal(sizeOf(group), 3);
  group.settle();
  await group.backend.seeOff({ pool, machine: first });
  deepEqual([await wanted(group), group.cloud.instances().length], [3, 4]);
});

Deno.test("group size: refuses a second order that replaces the same machine, and an order that replaces a new machine whose old machine still exists", async () => {
  const { group } = await ordered();
  const third = { ...next, image: "image-3" };
  group.ask(third, { stage: "Workers", digest: hashOf(third) });
  for (const victim of ["workers-1", first]) {
    await rejects(
      group.backend.orders.admit({ pool, machine: second, victim }),
      /itself replaces "workers-1"|already replaces "/,
    );
  }
  equal(sizeOf(group), 4);
  await goes(group, first);
  await group.backend.orders.admit({ pool, machine: second, victim: "workers-1" });
  deepEqual([sizeOf(group), await wanted(group)], [4, 3]);
});

Deno.test("group size: an old machine that leaves before its new machine has joined passes its slot on to the new machine", async () => {
  const { group, newcomer } = await ordered();
  await goes(group, "workers-1");
  deepEqual([sizeOf(group), await wanted(group)], [3, 3]);
  group.join(newcomer.providerId, next);
  await group.backend.welcome({ pool, machine: first });
  deepEqual([await wanted(group), group.kube.all("pendingnodes").length], [3, 0]);
});

Deno.test("group size: is unchanged when a machine leaves while the group is read", async () => {
  const { group, newcomer } = await ordered();
  group.join(newcomer.providerId, next);
  await group.backend.welcome({ pool, machine: first });
  await group.backend.orders.admit({ pool, machine: second, victim: "workers-2" });
  const cloud = directCloud(group.cloud);
  // The cloud has not acted on the removal yet.
  useCloud(group.client, () => Promise.resolve({ ...cloud, remove: () => Promise.resolve("Going") }));
  await group.backend.orders.release({ pool, machine: "workers-1" });
  const instances = async (id: string): ReturnType<typeof cloud.instances> => {
    await new Promise((done) => setTimeout(done, 20));
    group.cloud.remove(group.cloud.instances()[0]?.providerId ?? "", true);
    return await cloud.instances(id);
  };
  const early = (id: string): ReturnType<typeof cloud.group> => Promise.resolve(structuredClone(group.cloud.group(id)));
  useCloud(group.client, () => Promise.resolve({ ...cloud, group: early, instances }));
  equal(await wanted(group), 3);
});

for (const lost of ["no capacity", "no answer"] as const) {
  Deno.test(`group size: counts the machines that another controller adds while an order gets ${lost}, so that none of them is surplus`, async () => {
    const group = new GroupInMemory({ size: 10, max: 30 });
    group.ask(next, { stage: "Workers", digest: hashOf(next) });
    const cloud = directCloud(group.cloud);
    const order = (): ReturnType<typeof cloud.order> =>
      lost === "no capacity"
        ? Promise.resolve({ outcome: "NoCapacity", says: "zone a is full" })
        : Promise.reject(unavailable("Failed to order: the answer was lost"));
    useCloud(group.client, () => Promise.resolve({ ...cloud, order }));
    await group.backend.orders.admit({ pool, machine: first, victim: "workers-1" }).catch(() => {});
    equal(await wanted(group), 10);
    const made = group.cloud.group(spec.id);
    if (!made) throw new Error("Failed to set up the group: it does not exist");
    group.cloud.resize(made, 15);
    for (const { providerId, state } of group.cloud.instances()) if (state === "Creating") group.join(providerId, next);
    equal(await wanted(group), 15);
    // A second order records the current size, and does not keep the size that the first order recorded.
    await group.backend.orders.admit({ pool, machine: second, victim: "workers-2" }).catch(() => {});
    const { annotations } = group.kube.get("scalinggroups", "workers")?.metadata ?? {};
    deepEqual([annotations?.["ostler.dev/declared-size"], await wanted(group)], ["15", 15]);
  });
}

Deno.test("fault E10: a group is refused while two nodes have the provider ID of one machine", async () => {
  const { group } = await ordered();
  const [machine] = group.cloud.instances();
  const node = group.kube.all("nodes").find(({ metadata }) => metadata.name === machine?.node);
  if (!machine || !node) throw new Error("Failed to set up the group: there is no node");
  group.kube.put("nodes", { ...node, metadata: { ...node.metadata, name: "stale", uid: "stale" } });
  await rejects(group.backend.observe(pool), {
    type: "ObjectInvalid",
    message: `Failed to read ScalingGroup "workers": nodes "stale" and "${machine.node}" have the same provider ID ` +
      `"${machine.providerId}"; delete the Node whose machine does not exist`,
  });
  group.kube.remove("nodes", "stale");
  await group.backend.observe(pool);
});
