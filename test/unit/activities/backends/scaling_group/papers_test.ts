/**
 * C1 to C14: for which machines `observe` lists a pending machine, which is a replacement that is not ordered yet. The
 * planner decides how many of them are ordered at a time.
 */
import { deepEqual, rejects } from "node:assert/strict";
import { hashOf } from "../../../../../activities/node_version/version_release.ts";
import { GroupInMemory, next, pool, spec, version } from "../../../../support/group_in_memory.ts";

const released = { stage: "Workers", digest: hashOf(next) };

async function papersOf(group: GroupInMemory): Promise<string[]> {
  const { members } = await group.backend.observe(pool);
  return members.filter(({ phase }) => phase === "Held").map(({ id }) => id);
}

function outdated(change: ConstructorParameters<typeof GroupInMemory>[0] = {}): GroupInMemory {
  const group = new GroupInMemory({ size: 1, ...change });
  group.ask(next, released);
  return group;
}

const table: [what: string, make: () => GroupInMemory | Promise<GroupInMemory>, papers: string[]][] = [
  ["C1 nothing is outdated", () => {
    const group = new GroupInMemory({ size: 1 });
    group.ask(version, { stage: "Workers", digest: hashOf(version) });
    return group;
  }, []],
  ["C2, C3 one node is outdated, and several orders are allowed", () => outdated(), ["workers-new-1"]],
  ["C4 the group has its maximum size", () => outdated({ max: 1 }), []],
  ["C5 the desired image is not released", () => {
    const group = new GroupInMemory({ size: 1 });
    group.ask(next, undefined);
    return group;
  }, []],
  ["C6, C8 a new machine is already ordered for the outdated node", async () => {
    const group = outdated();
    await group.backend.orders.admit({ pool, machine: "workers-new-1", victim: "workers-1" });
    return group;
  }, []],
  ["C7 one of two outdated nodes is being deleted", () => {
    const group = outdated({ size: 2 });
    group.cloud.remove("sim:///a/workers-2", true);
    return group;
  }, ["workers-new-1"]],
  ["C13 three nodes are outdated", () => outdated({ size: 3 }), ["workers-new-1", "workers-new-2", "workers-new-3"]],
  ["C9 another group has outdated nodes too: each group lists its own", () => {
    const group = outdated();
    group.cloud.create({ ...spec, id: "other", name: "other", autoscalerName: "other", size: 2 });
    for (const { providerId } of group.cloud.instances("other")) group.join(providerId, version);
    return group;
  }, ["workers-new-1"]],
  ["C14 nodes name the group in upper case", () => outdated({ id: spec.id.toUpperCase() }), ["workers-new-1"]],
  ["a machine is missing, which the group creates by itself", () => {
    const group = outdated({ size: 2 });
    const inCloud = group.cloud.group(spec.id);
    if (inCloud) inCloud.size = 3;
    return group;
  }, []],
];

for (const [what, make, papers] of table) {
  Deno.test(`observe: lists ${papers.length} pending machines when ${what}`, async () =>
    deepEqual(await papersOf(await make()), papers));
}

Deno.test("C10 wanted: returns Gone when the ScalingGroup was deleted, and member returns undefined", async () => {
  const group = outdated();
  group.kube.remove("scalinggroups", "workers");
  deepEqual(await group.backend.wanted(pool, { profileNamespace: "" }), { state: "Gone" });
  deepEqual(await group.backend.member({ pool, machine: "workers-1" }), undefined);
});

Deno.test("numbers of new machines: a used number is never used again, but a skipped number is", async () => {
  const group = outdated({ size: 3 });
  await group.backend.orders.admit({ pool, machine: "workers-new-2", victim: "workers-1" });
  deepEqual(await papersOf(group), ["workers-new-1", "workers-new-3"]);
  await group.backend.orders.replace({ pool, machine: "workers-new-2" });
  group.settle();
  deepEqual(await group.backend.seeOff({ pool, machine: "workers-new-2" }), undefined);
  deepEqual(await papersOf(group), ["workers-new-1", "workers-new-3", "workers-new-4"]);
  deepEqual([group.cloud.group(spec.id)?.size, group.kube.all("pendingnodes").length], [3, 0]);
});

Deno.test("numbers: an order with a used number fails as MachineGone, and does not reach the cloud", async () => {
  const group = outdated({ size: 3 });
  await group.backend.orders.admit({ pool, machine: "workers-new-1", victim: "workers-1" });
  await group.backend.orders.replace({ pool, machine: "workers-new-1" });
  group.settle();
  await group.backend.seeOff({ pool, machine: "workers-new-1" });
  await rejects(group.backend.orders.admit({ pool, machine: "workers-new-1", victim: "workers-1" }), {
    type: "MachineGone",
  });
  deepEqual([group.cloud.group(spec.id)?.size, group.kube.all("pendingnodes").length], [3, 0]);
});

Deno.test("numbers: the numbers of machines that exist, and all lower numbers, are not used again when their ScalingGroup was created again", async () => {
  const group = outdated();
  const replace = async (machine: string, victim: string, to: typeof next): Promise<void> => {
    group.ask(to, { stage: "Workers", digest: hashOf(to) });
    await group.backend.orders.admit({ pool, machine, victim });
    group.join(group.cloud.instances().at(-1)?.providerId ?? "", to);
    await group.backend.welcome({ pool, machine });
    await group.backend.orders.release({ pool, machine: victim });
    group.settle();
    await group.backend.seeOff({ pool, machine: victim });
  };
  await replace("workers-new-1", "workers-1", next);
  await replace("workers-new-2", "workers-new-1", { ...next, image: "image-3" });
  const same = group.kube.get("scalinggroups", "workers")?.["spec"];
  group.kube.remove("scalinggroups", "workers");
  const creationTimestamp = new Date(Date.now() + 1_000).toISOString();
  group.kube.put("scalinggroups", { metadata: { name: "workers", creationTimestamp }, spec: same });
  group.ask(next, released);
  deepEqual(await papersOf(group), ["workers-new-3"]);
  await replace("workers-new-3", "workers-new-2", next);
  group.ask(version, { stage: "Workers", digest: hashOf(version) });
  deepEqual(await papersOf(group), ["workers-new-4"]);
});

for (const id of [spec.id, spec.id.toUpperCase()]) {
  Deno.test(`owns: accepts the node of an instance that was deleted when the node names its group as "${id}"`, async () => {
    const group = outdated({ id });
    group.cloud.remove("sim:///a/workers-1", true);
    const gone = { pool, machine: "workers-1", node: "workers-1" };
    deepEqual(await group.backend.owns(gone), { rollsControlPlanes: false });
    deepEqual(await group.backend.owns({ ...gone, node: "another" }), undefined);
  });
}
