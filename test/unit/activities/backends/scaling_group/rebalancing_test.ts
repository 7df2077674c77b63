import { deepEqual, equal, rejects } from "node:assert/strict";
import { discoverScalingGroups } from "../../../../../activities/backends/scaling_group/discovery.ts";
import { holdRebalancing, letRebalancingGo } from "../../../../../activities/backends/scaling_group/rebalancing.ts";
import { surveyNodeVersion } from "../../../../../activities/backends/scaling_group/version_survey.ts";
import { refused, unavailable } from "../../../../../activities/failures.ts";
import { deleteClusterObject } from "../../../../../activities/kube/resources.ts";
import { scalingGroups } from "../../../../../activities/kube/update_kinds.ts";
import { GroupInMemory, pool, spec } from "../../../../support/group_in_memory.ts";

const annotation = "ostler.dev/rebalancing-held-until";
const hourMs = 3_600_000;

interface Scene {
  group: GroupInMemory;
  cloud: { isOn: boolean; calls: string[]; isDown: boolean };
  survey: () => Promise<[autoscalers: string, isHeld: boolean]>;
  until: () => string | undefined;
}

/** Returns a group whose cloud moves machines between zones while `isOn` is true. */
async function sceneOf({ isOn = true } = {}): Promise<Scene> {
  const group = new GroupInMemory();
  const cloud = { isOn, calls: [] as string[], isDown: false };
  const driver = await group.driver();
  const { group: readGroup, groups: readGroups } = driver;
  const moves = (): { rebalances?: true } => cloud.isOn ? { rebalances: true } : {};
  driver.group = async (id) => {
    const found = await readGroup(id);
    return found && { ...found, ...moves() };
  };
  driver.groups = async () => {
    const found = await readGroups();
    return { ...found, groups: found.groups.map((each) => ({ ...each, ...moves() })) };
  };
  driver.ensureRebalancing = async (order) => {
    cloud.calls.push(`${order.group} ${order.isOn}`);
    if (cloud.isDown) throw unavailable("Failed to suspend the process: HTTP 503");
    await Promise.resolve(cloud.isOn = order.isOn);
  };
  const survey: Scene["survey"] = async () => {
    const seen = await surveyNodeVersion(group.client, { object: { name: "v" } });
    return seen.state === "Gone" ? ["", false] : [seen.autoscalers, seen.isHeld];
  };
  const until: Scene["until"] = () => group.kube.get("scalinggroups", "workers")?.metadata.annotations?.[annotation];
  return { group, cloud, survey, until };
}

Deno.test("fault G2: the survey reports whether the cloud still moves machines between zones, and whether Ostler has suspended that", async () => {
  const { group, cloud, survey } = await sceneOf();
  deepEqual(await survey(), ["On", false]);
  await holdRebalancing(group.client, { version: "v", until: hourMs });
  deepEqual([cloud.isOn, await survey()], [false, ["Off", true]]);
  await letRebalancingGo(group.client, { version: "v" });
  await letRebalancingGo(group.client, { version: "v" });
  deepEqual([cloud.isOn, await survey()], [true, ["On", false]]);
  deepEqual(cloud.calls, [`${spec.id} false`, `${spec.id} true`]);
});

Deno.test("fault G2: rebalancing that a person suspended stays suspended, and groups of another NodeVersion are unchanged", async () => {
  const { group, cloud, until } = await sceneOf({ isOn: false });
  await holdRebalancing(group.client, { version: "v", until: hourMs });
  await letRebalancingGo(group.client, { version: "v" });
  cloud.isOn = true;
  await holdRebalancing(group.client, { version: "other", until: hourMs });
  deepEqual([until(), cloud.calls], [undefined, []]);
});

Deno.test("fault G2: a hold is recorded before the cloud is called, the call is retried after a failure, and only a much longer hold is recorded again", async () => {
  const { group, cloud, until } = await sceneOf();
  cloud.isDown = true;
  const hold = (time: number): Promise<void> => holdRebalancing(group.client, { version: "v", until: time });
  await rejects(hold(hourMs), { type: "ApiUnavailable" });
  equal(until(), String(hourMs));
  cloud.isDown = false;
  await hold(hourMs + 1);
  const writes = group.kube.writes.length;
  await hold(hourMs + 2);
  // A hold that is only 2 ms longer is not written, because each write of the object wakes all of its readers.
  deepEqual([cloud.isOn, until(), group.kube.writes.length], [false, String(hourMs), writes]);
  await hold(2 * hourMs);
  equal(until(), String(2 * hourMs));
});

Deno.test("fault G2: rebalancing is resumed after the end of a forgotten hold, and when the group is released", async () => {
  const { group, cloud, until } = await sceneOf();
  await holdRebalancing(group.client, { version: "v", until: hourMs });
  await discoverScalingGroups(group.client, hourMs - 1);
  equal(cloud.isOn, false);
  await discoverScalingGroups(group.client, hourMs + 1);
  deepEqual([cloud.isOn, until()], [true, undefined]);
  await holdRebalancing(group.client, { version: "v", until: hourMs });
  await group.backend.releaseAll(pool);
  deepEqual([cloud.isOn, until()], [true, undefined]);
});

const donor = "ostler.dev/donor";

/** Adds an order whose new machine exists beside the machine that it replaces. */
function putOrder({ kube }: GroupInMemory, name: string, group = spec.id): void {
  kube.put("pendingnodes", {
    metadata: { name, annotations: { [donor]: "old", "ostler.dev/target": "t" } },
    spec: { providerID: "i-new", groupID: group, nodeName: "new", goal: "Join" },
  });
}

/** Sets the phase in the Rollout of the group. */
function putRollout({ kube }: GroupInMemory, phase: string): void {
  kube.put("rollouts", { metadata: { namespace: pool.namespace, name: pool.name }, status: { phase } });
}

Deno.test("fault G2: a halted group with more machines than its size keeps its rebalancing suspended, and its NodeVersion does not wait for the group", async () => {
  const { group, cloud, survey, until } = await sceneOf();
  await holdRebalancing(group.client, { version: "v", until: hourMs });
  putOrder(group, "order");
  putRollout(group, "Rolling");
  deepEqual(await survey(), ["Off", true]);
  putRollout(group, "Halted");
  // The NodeVersion cannot end this hold, so if the survey reported the hold, the NodeVersion would retry without a
  // pause.
  deepEqual(await survey(), ["Off", false]);
  await letRebalancingGo(group.client, { version: "v" });
  await discoverScalingGroups(group.client, hourMs + 1);
  deepEqual([cloud.isOn, until()], [false, String(hourMs)]);
  group.kube.remove("pendingnodes", "order");
  await discoverScalingGroups(group.client, hourMs + 1);
  deepEqual([cloud.isOn, until()], [true, undefined]);
});

Deno.test("fault G2: when the cloud refuses one group, the rebalancing of all other groups is still suspended and resumed", async () => {
  const { group, cloud } = await sceneOf();
  const driver = await group.driver();
  const { groups, ensureRebalancing } = driver;
  driver.groups = async () => {
    const found = await groups();
    const [first] = found.groups;
    return { ...found, groups: first ? [{ ...first, id: "bad", rebalances: true as const }, ...found.groups] : [] };
  };
  driver.ensureRebalancing = async (order) => {
    if (order.group === "bad") throw refused("CloudRefused", "Failed to change the group: it has an operator");
    await ensureRebalancing?.(order);
  };
  const workers = group.kube.get("scalinggroups", "workers");
  group.kube.remove("scalinggroups", "workers");
  group.kube.put("scalinggroups", { metadata: { name: "bad" }, spec: { nodeImage: "v", groupId: "bad" } });
  group.kube.put("scalinggroups", { metadata: { name: "workers" }, spec: workers?.["spec"] });
  await rejects(holdRebalancing(group.client, { version: "v", until: hourMs }), { type: "CloudRefused" });
  equal(cloud.isOn, false);
  await rejects(letRebalancingGo(group.client, { version: "v" }), { type: "CloudRefused" });
  equal(cloud.isOn, true);
  await rejects(holdRebalancing(group.client, { version: "v", until: hourMs }), { type: "CloudRefused" });
  await rejects(discoverScalingGroups(group.client, hourMs + 1), { type: "CloudRefused" });
  equal(cloud.isOn, true);
});

Deno.test("fault G2: the rebalancing of a group that is deleted during a hold is resumed before the ScalingGroup is gone, and not suspended again", async () => {
  const { group, cloud, survey } = await sceneOf();
  await holdRebalancing(group.client, { version: "v", until: hourMs });
  const uid = group.kube.get("scalinggroups", "workers")?.metadata.uid ?? "";
  await deleteClusterObject(group.client, scalingGroups, { name: "workers", uid });
  // The NodeVersion of the group can be deleted before the group is released.
  group.kube.remove("nodeversions", "v");
  await group.backend.releaseAll(pool);
  equal(cloud.isOn, true);
  await holdRebalancing(group.client, { version: "v", until: hourMs });
  equal(cloud.isOn, true);
  cloud.isOn = false;
  group.kube.put("scalinggroups", {
    metadata: {
      ...{ name: "workers", finalizers: ["ostler.dev/scaling-group"], deletionTimestamp: "2026-01-01T00:00:00Z" },
      annotations: { [annotation]: String(hourMs) },
    },
    spec: group.kube.get("scalinggroups", "workers")?.["spec"],
  });
  await group.backend.boots.letGo(pool);
  deepEqual([cloud.isOn, group.kube.get("scalinggroups", "workers")], [true, undefined]);
  equal((await survey())[0], "");
});

Deno.test("fault G2: a NodeVersion does not wait until the rebalancing of a group that is being deleted is suspended", async () => {
  const { group, survey } = await sceneOf();
  const found = group.kube.get("scalinggroups", "workers");
  group.kube.put("scalinggroups", {
    metadata: { name: "workers", finalizers: ["other"], deletionTimestamp: "2026-01-01T00:00:00Z" },
    spec: found?.["spec"],
  });
  await holdRebalancing(group.client, { version: "v", until: hourMs });
  deepEqual(await survey(), ["Off", false]);
});
