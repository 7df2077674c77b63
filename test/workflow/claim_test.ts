/** Two clusters that use one Temporal namespace are kept apart by their names, or the later cluster is refused. */
import { deepEqual, equal, rejects } from "node:assert/strict";
import { Claim, ClusterConflict } from "../../workers/claim.ts";
import { type Config, readConfig } from "../../workers/config.ts";
import { ensureCredentialSchedule } from "../../workers/credential_schedule.ts";
import { eventually } from "../support/eventually.ts";
import { onStage } from "../support/workflow_stage.ts";
import type { Stage } from "../support/workflow_stage.ts";

const test = onStage();

/** Claims the Schedule and the task queue for a cluster with this UID; the settings may name the cluster. */
async function claim(stage: Stage, uid: string, settings: Record<string, string> = {}): Promise<void> {
  const config = readConfig(settings);
  await new Claim(config).hold(stage.client, { name: config.cluster, uid });
}

async function ownerOf(stage: Stage, scheduleId: string): Promise<unknown> {
  const { action } = await stage.client.schedule.getHandle(scheduleId).describe();
  return action.memo?.["cluster"];
}

async function forget(stage: Stage, ...scheduleIds: string[]): Promise<void> {
  for (const id of scheduleIds) await stage.client.schedule.getHandle(id).delete();
}

test("claim: refuses the later of two clusters without a name, and names both clusters and the setting", async (stage) => {
  await claim(stage, "uid-north");
  await claim(stage, "uid-north");
  await rejects(claim(stage, "uid-south"), (error: Error) => {
    equal(error instanceof ClusterConflict, true);
    for (const part of ["uid-north", "uid-south", "--cluster (OSTLER_CLUSTER)", '"renew-credentials"', '"ostler"']) {
      equal(error.message.includes(part), true, `${part} in ${error.message}`);
    }
    return true;
  });
  deepEqual(await ownerOf(stage, "renew-credentials"), { name: "", uid: "uid-north" });
  await forget(stage, "renew-credentials");
  await claim(stage, "uid-south");
  await forget(stage, "renew-credentials");
});

test("claim: named clusters have a Schedule and a queue each", async (stage) => {
  await claim(stage, "uid-north", { OSTLER_CLUSTER: "north" });
  await claim(stage, "uid-south", { OSTLER_CLUSTER: "south" });
  await claim(stage, "uid-plain");
  await rejects(claim(stage, "uid-other", { OSTLER_CLUSTER: "north" }), ClusterConflict);
  const { action } = await stage.client.schedule.getHandle("north/renew-credentials").describe();
  deepEqual([action.taskQueue, action.workflowId, action.args], [
    ...["ostler-north", "north/renew-credentials", [{ cluster: "north" }]],
  ]);
  await forget(stage, "north/renew-credentials", "south/renew-credentials", "renew-credentials");
});

test("claim: refuses the later of two named clusters on one task queue, and the earlier cluster continues", async (stage) => {
  const [north, south] = ["north", "south"].map((OSTLER_CLUSTER) => ({ OSTLER_CLUSTER, OSTLER_TASK_QUEUE: "shared" }));
  await claim(stage, "uid-north", north);
  // Temporal lists a new Schedule with a delay, so the refusal may come only after several attempts.
  await eventually("a refusal", async () => {
    const refusal = await claim(stage, "uid-south", south).then(() => undefined, (error: unknown) => error);
    if (refusal === undefined) await forget(stage, "south/renew-credentials");
    return refusal instanceof ClusterConflict;
  });
  await claim(stage, "uid-north", north);
  await forget(stage, "north/renew-credentials");
});

test("claim: refuses a process without a cluster identity when the claim has one, and names the missing permission", async (stage) => {
  await claim(stage, "");
  await claim(stage, "");
  await claim(stage, "uid-north");
  await rejects(claim(stage, ""), (error: Error) => {
    equal(error instanceof ClusterConflict, true);
    for (const part of ["without a proven identity", 'get namespace "kube-system"', "uid-north"]) {
      equal(error.message.includes(part), true, `${part} in ${error.message}`);
    }
    return true;
  });
  deepEqual(await ownerOf(stage, "renew-credentials"), { name: "", uid: "uid-north" });
  await forget(stage, "renew-credentials");
});

test("claim: takes over a Schedule without a cluster identity, and keeps it paused", async (stage) => {
  const old: Config = readConfig({});
  await ensureCredentialSchedule(stage.client, { config: old, self: { name: "", uid: "" } });
  await stage.client.schedule.getHandle("renew-credentials").pause("incident 12");
  equal(await ownerOf(stage, "renew-credentials"), undefined);
  await claim(stage, "uid-north");
  deepEqual(await ownerOf(stage, "renew-credentials"), { name: "", uid: "uid-north" });
  equal((await stage.client.schedule.getHandle("renew-credentials").describe()).state.paused, true);
  await rejects(claim(stage, "uid-south"), ClusterConflict);
  await forget(stage, "renew-credentials");
});

test("claim: deletes the Schedule of an unnamed cluster when the cluster gets a name, and no Schedule of another cluster", async (stage) => {
  const named = readConfig({ OSTLER_CLUSTER: "north" });
  const isThere = (): Promise<boolean> => ownerOf(stage, "renew-credentials").then(() => true, () => false);
  // The workers of the stage serve queue "ostler"; while workers from before serve the queue, the Schedule stays.
  await claim(stage, "uid-south", { OSTLER_TASK_QUEUE: "unserved" });
  await ensureCredentialSchedule(stage.client, { config: named, self: { name: "north", uid: "uid-north" } });
  equal(await isThere(), true);
  await ensureCredentialSchedule(stage.client, { config: named, self: { name: "north", uid: "uid-south" } });
  equal(await isThere(), false);
  await forget(stage, "north/renew-credentials");
});
