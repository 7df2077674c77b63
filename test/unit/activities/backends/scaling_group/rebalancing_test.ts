import { deepEqual, equal, rejects } from "node:assert/strict";
import { discoverScalingGroups } from "../../../../../activities/backends/scaling_group/discovery.ts";
import { holdRebalancing, letRebalancingGo } from "../../../../../activities/backends/scaling_group/rebalancing.ts";
import { surveyNodeVersion } from "../../../../../activities/backends/scaling_group/version_survey.ts";
import { unavailable } from "../../../../../activities/failures.ts";
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
