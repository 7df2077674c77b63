import { deepEqual, equal, rejects } from "node:assert/strict";
import { discoverScalingGroups } from "../../../../../activities/backends/scaling_group/discovery.ts";
import { holdRebalancing, letRebalancingGo } from "../../../../../activities/backends/scaling_group/rebalancing.ts";
import { surveyNodeVersion } from "../../../../../activities/backends/scaling_group/version_survey.ts";
import { refused, unavailable } from "../../../../../activities/failures.ts";
import { deleteClusterObject } from "../../../../../activities/kube/resources.ts";
import { scalingGroups } from "../../../../../activities/kube/update_kinds.ts";
import { GroupStage, pool, spec } from "../../../../support/group_stage.ts";

const annotation = "ostler.dev/rebalancing-held-until";
const hourMs = 3_600_000;

interface World {
  stage: GroupStage;
  cloud: { isOn: boolean; calls: string[]; isDown: boolean };
  survey: () => Promise<[autoscalers: string, isHeld: boolean]>;
  until: () => string | undefined;
}

/** A cloud that moves machines between zones. */
async function worldOf({ isOn = true } = {}): Promise<World> {
  const stage = new GroupStage();
  const cloud = { isOn, calls: [] as string[], isDown: false };
  const driver = await stage.driver();
  const { group, groups } = driver;
  const moves = (): { rebalances?: true } => cloud.isOn ? { rebalances: true } : {};
  driver.group = async (id) => {
    const found = await group(id);
    return found && { ...found, ...moves() };
  };
  driver.groups = async () => {
    const found = await groups();
    return { ...found, groups: found.groups.map((each) => ({ ...each, ...moves() })) };
  };
  driver.ensureRebalancing = async (order) => {
    cloud.calls.push(`${order.group} ${order.isOn}`);
    if (cloud.isDown) throw unavailable("Failed to suspend the process: HTTP 503");
    await Promise.resolve(cloud.isOn = order.isOn);
  };
  const survey: World["survey"] = async () => {
    const seen = await surveyNodeVersion(stage.client, { object: { name: "v" } });
    return seen.state === "Gone" ? ["", false] : [seen.autoscalers, seen.isHeld];
  };
  const until: World["until"] = () => stage.kube.get("scalinggroups", "workers")?.metadata.annotations?.[annotation];
  return { stage, cloud, survey, until };
}

Deno.test("fault G2: no stage is released before the cloud stopped moving machines between zones", async () => {
  const { stage, cloud, survey } = await worldOf();
  deepEqual(await survey(), ["On", false]);
  await holdRebalancing(stage.client, { version: "v", until: hourMs });
  deepEqual([cloud.isOn, await survey()], [false, ["Off", true]]);
  await letRebalancingGo(stage.client, { version: "v" });
  await letRebalancingGo(stage.client, { version: "v" });
  deepEqual([cloud.isOn, await survey()], [true, ["On", false]]);
  deepEqual(cloud.calls, [`${spec.id} false`, `${spec.id} true`]);
});

Deno.test("fault G2: moves that a person suspended stay suspended, and groups of others are left alone", async () => {
  const { stage, cloud, until } = await worldOf({ isOn: false });
  await holdRebalancing(stage.client, { version: "v", until: hourMs });
  await letRebalancingGo(stage.client, { version: "v" });
  cloud.isOn = true;
  await holdRebalancing(stage.client, { version: "other", until: hourMs });
  deepEqual([until(), cloud.calls], [undefined, []]);
});

Deno.test("fault G2: a hold is recorded before the cloud is called, and only then is the call repeated", async () => {
  const { stage, cloud, until } = await worldOf();
  cloud.isDown = true;
  const hold = (time: number): Promise<void> => holdRebalancing(stage.client, { version: "v", until: time });
  await rejects(hold(hourMs), { type: "ApiUnavailable" });
  equal(until(), String(hourMs));
  cloud.isDown = false;
  await hold(hourMs + 1);
  const writes = stage.kube.writes.length;
  await hold(hourMs + 2);
  // Each write of a group wakes all of its readers.
  deepEqual([cloud.isOn, until(), stage.kube.writes.length], [false, String(hourMs), writes]);
  await hold(2 * hourMs);
  equal(until(), String(2 * hourMs));
});

Deno.test("fault G2: the moves are resumed after the end of a forgotten hold, and when the group is released", async () => {
  const { stage, cloud, until } = await worldOf();
  await holdRebalancing(stage.client, { version: "v", until: hourMs });
  await discoverScalingGroups(stage.client, hourMs - 1);
  equal(cloud.isOn, false);
  await discoverScalingGroups(stage.client, hourMs + 1);
  deepEqual([cloud.isOn, until()], [true, undefined]);
  await holdRebalancing(stage.client, { version: "v", until: hourMs });
  await stage.backend.releaseAll(pool);
  deepEqual([cloud.isOn, until()], [true, undefined]);
});

const donor = "ostler.dev/donor";

/** An order whose new machine exists beside the replaced one. */
function putOrder({ kube }: GroupStage, name: string, group = spec.id): void {
  kube.put("pendingnodes", {
    metadata: { name, annotations: { [donor]: "old", "ostler.dev/target": "t" } },
    spec: { providerID: "i-new", groupID: group, nodeName: "new", goal: "Join" },
  });
}

/** The status of the group's rollout. */
function putRollout({ kube }: GroupStage, phase: string): void {
  kube.put("rollouts", { metadata: { namespace: pool.namespace, name: pool.name }, status: { phase } });
}

Deno.test("fault G2: a halted group with machines above its size stays held, and holds the NodeVersion no longer", async () => {
  const { stage, cloud, survey, until } = await worldOf();
  await holdRebalancing(stage.client, { version: "v", until: hourMs });
  putOrder(stage, "order");
  putRollout(stage, "Rolling");
  deepEqual(await survey(), ["Off", true]);
  putRollout(stage, "Halted");
  // A hold that the NodeVersion cannot end must not make it try again without a pause.
  deepEqual(await survey(), ["Off", false]);
  await letRebalancingGo(stage.client, { version: "v" });
  await discoverScalingGroups(stage.client, hourMs + 1);
  deepEqual([cloud.isOn, until()], [false, String(hourMs)]);
  stage.kube.remove("pendingnodes", "order");
  await discoverScalingGroups(stage.client, hourMs + 1);
  deepEqual([cloud.isOn, until()], [true, undefined]);
});

Deno.test("fault G2: after a refusal for one group all others are held and resumed", async () => {
  const { stage, cloud } = await worldOf();
  const driver = await stage.driver();
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
  const workers = stage.kube.get("scalinggroups", "workers");
  stage.kube.remove("scalinggroups", "workers");
  stage.kube.put("scalinggroups", { metadata: { name: "bad" }, spec: { nodeImage: "v", groupId: "bad" } });
  stage.kube.put("scalinggroups", { metadata: { name: "workers" }, spec: workers?.["spec"] });
  await rejects(holdRebalancing(stage.client, { version: "v", until: hourMs }), { type: "CloudRefused" });
  equal(cloud.isOn, false);
  await rejects(letRebalancingGo(stage.client, { version: "v" }), { type: "CloudRefused" });
  equal(cloud.isOn, true);
  await rejects(holdRebalancing(stage.client, { version: "v", until: hourMs }), { type: "CloudRefused" });
  await rejects(discoverScalingGroups(stage.client, hourMs + 1), { type: "CloudRefused" });
  equal(cloud.isOn, true);
});

Deno.test("fault G2: a group that is deleted while it is held is resumed before it is gone, and not held again", async () => {
  const { stage, cloud, survey } = await worldOf();
  await holdRebalancing(stage.client, { version: "v", until: hourMs });
  const uid = stage.kube.get("scalinggroups", "workers")?.metadata.uid ?? "";
  await deleteClusterObject(stage.client, scalingGroups, { name: "workers", uid });
  // Its NodeVersion may be deleted first.
  stage.kube.remove("nodeversions", "v");
  await stage.backend.releaseAll(pool);
  equal(cloud.isOn, true);
  await holdRebalancing(stage.client, { version: "v", until: hourMs });
  equal(cloud.isOn, true);
  cloud.isOn = false;
  stage.kube.put("scalinggroups", {
    metadata: {
      ...{ name: "workers", finalizers: ["ostler.dev/scaling-group"], deletionTimestamp: "2026-01-01T00:00:00Z" },
      annotations: { [annotation]: String(hourMs) },
    },
    spec: stage.kube.get("scalinggroups", "workers")?.["spec"],
  });
  await stage.backend.boots.letGo(pool);
  deepEqual([cloud.isOn, stage.kube.get("scalinggroups", "workers")], [true, undefined]);
  equal((await survey())[0], "");
});

Deno.test("fault G2: a NodeVersion does not wait for a group that is being deleted to be held", async () => {
  const { stage, survey } = await worldOf();
  const found = stage.kube.get("scalinggroups", "workers");
  stage.kube.put("scalinggroups", {
    metadata: { name: "workers", finalizers: ["other"], deletionTimestamp: "2026-01-01T00:00:00Z" },
    spec: found?.["spec"],
  });
  await holdRebalancing(stage.client, { version: "v", until: hourMs });
  deepEqual(await survey(), ["Off", false]);
});
