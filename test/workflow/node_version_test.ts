/**
 * The rollout of a NodeVersion to all nodes: when Ostler holds cluster-autoscaler, and in which order it releases
 * control planes and workers.
 */
import { deepEqual, rejects } from "node:assert/strict";
import { readConfig } from "../../workers/config.ts";
import { rollOutNodeVersion } from "../../workers/controller.ts";
import { nodeVersionIdOf, upgradeIdOf } from "../../workflows/commands/start_options.ts";
import { eventually } from "../support/eventually.ts";
import { failure } from "../support/fake_failure.ts";
import { FakeUpgrade } from "../support/fake_upgrade.ts";
import { controlPlaneFirst, surveyed, upgradeFirst } from "../support/fake_versions.ts";
import type { Stage } from "../support/workflow_stage.ts";
import { onStage } from "../support/workflow_stage.ts";

const test = onStage();
const config = readConfig({});

function doneWith(stage: Stage, name: string): string[] {
  return stage.activities.versions.done.filter((line) => line.startsWith(`${name} `)).map((line) =>
    line.slice(name.length + 1)
  );
}

test("K24 rollOutNodeVersion: holds the autoscaler, releases the workers, and releases the autoscaler at the end", async (stage) => {
  const held = { isHeld: true, autoscalers: "Off" } as const;
  stage.activities.versions.looks.set("v", [
    surveyed({ autoscalers: "On" }),
    surveyed({ ...held, autoscalers: "Stopping" }),
    surveyed(held),
    surveyed({ ...held, released: "Workers" }),
    surveyed({ ...held, released: "Workers", isSettled: true, says: "All 2" }),
    surveyed({ ...held, isSettled: true, says: "All 2" }),
    surveyed({ isSettled: true, says: "All 2" }),
  ]);
  await rollOutNodeVersion(stage.client, config, "v");
  const handle = stage.client.workflow.getHandle(nodeVersionIdOf({ name: "v" }));
  deepEqual(await handle.result(), { outcome: "UpToDate", says: "All 2" });
  deepEqual(doneWith(stage, "v"), [
    ...["tell HoldingAutoscaler", "hold", "tell HoldingAutoscaler", "hold", "tell Rolling", "hold"],
    ...["release Workers of d", "tell Rolling", "hold", "tell UpToDate", "hold", "end release", "let go"],
  ]);
});

test("K23 rollOutNodeVersion: releases control planes, and then workers when the control planes are done", async (stage) => {
  stage.activities.versions.looks.set("cp", controlPlaneFirst());
  await rollOutNodeVersion(stage.client, config, "cp");
  const handle = stage.client.workflow.getHandle(nodeVersionIdOf({ name: "cp" }));
  deepEqual(await handle.result(), { outcome: "UpToDate", says: "All 3" });
  deepEqual(doneWith(stage, "cp"), [
    ...["tell HoldingAutoscaler", "hold", "tell Rolling", "hold", "release ControlPlane of d", "tell Rolling", "hold"],
    ...["tell Rolling", "hold", "release Workers of d", "tell Rolling", "hold"],
    ...["tell UpToDate", "hold", "end release", "let go"],
  ]);
});

test("K23 rollOutNodeVersion: releases no worker while control planes are halted, and continues when the control planes are done", async (stage) => {
  const { versions } = stage.activities;
  versions.changed = new Promise(() => {});
  const [, , released, , ...rest] = controlPlaneFirst();
  if (!released) throw new Error("Failed to halt control planes: they are not released");
  const { ControlPlane, Workers } = released.stages;
  const halted = { ...ControlPlane, atRest: 1, moving: 0, halted: ['group "cp" is halted: Quarantined'] };
  versions.looks.set("halted", [{ ...released, isHeld: false, stages: { ControlPlane: halted, Workers } }]);
  await rollOutNodeVersion(stage.client, config, "halted");
  await eventually("the halt to be reported", () => doneWith(stage, "halted").includes("tell GroupHalted"));
  deepEqual(doneWith(stage, "halted"), ["tell GroupHalted"]);
  versions.looks.set("halted", rest);
  versions.changed = Promise.resolve();
  await rollOutNodeVersion(stage.client, config, "halted");
  await stage.client.workflow.getHandle(nodeVersionIdOf({ name: "halted" })).result();
  deepEqual(doneWith(stage, "halted").at(-1), "let go");
});

test("rollOutNodeVersion: surveys again at once after a signal of a change", async (stage) => {
  const { versions } = stage.activities;
  versions.changed = new Promise(() => {});
  versions.looks.set("w", [surveyed({ trouble: { reason: "GroupMissing", message: "no group" } })]);
  await rollOutNodeVersion(stage.client, config, "w");
  await eventually("the failure to be reported", () => doneWith(stage, "w").includes("tell GroupMissing"));
  versions.looks.set("w", [surveyed({ isSettled: true, says: "All 2" })]);
  await rollOutNodeVersion(stage.client, config, "w");
  await stage.client.workflow.getHandle(nodeVersionIdOf({ name: "w" })).result();
  versions.changed = Promise.resolve();
});

test("K24 rollOutNodeVersion: releases the autoscaler when it is cancelled, or its NodeVersion is deleted", async (stage) => {
  const { versions } = stage.activities;
  versions.changed = new Promise(() => {});
  versions.looks.set("x", [surveyed({ isHeld: true, released: "Workers" })]);
  await rollOutNodeVersion(stage.client, config, "x");
  await eventually("its wait", () => doneWith(stage, "x").includes("tell Rolling"));
  const handle = stage.client.workflow.getHandle(nodeVersionIdOf({ name: "x" }));
  await handle.cancel();
  await rejects(handle.result(), { name: "WorkflowFailedError" });
  deepEqual(doneWith(stage, "x").at(-1), "let go");
  versions.changed = Promise.resolve();
  await rollOutNodeVersion(stage.client, config, "none");
  const gone = stage.client.workflow.getHandle(nodeVersionIdOf({ name: "none" }));
  deepEqual((await gone.result() as { outcome: string }).outcome, "Gone");
  deepEqual(doneWith(stage, "none"), ["let go"]);
});

test("fault E5 rollOutNodeVersion: surveys again when the NodeVersion changes between survey and release", async (stage) => {
  const { versions } = stage.activities;
  versions.looks.set("edited", [
    surveyed({ digest: "one" }),
    surveyed({ digest: "two" }),
    surveyed({ isSettled: true, says: "All 2" }),
  ]);
  versions.failing = (step) =>
    step === "edited release Workers of one" ? failure("GenerationStale", "it asks for something else") : undefined;
  await rollOutNodeVersion(stage.client, config, "edited");
  const handle = stage.client.workflow.getHandle(nodeVersionIdOf({ name: "edited" }));
  deepEqual(await handle.result(), { outcome: "UpToDate", says: "All 2" });
  versions.failing = () => undefined;
  deepEqual(doneWith(stage, "edited"), ["tell Rolling", "tell Rolling", "release Workers of two", "tell UpToDate"]);
});

test("fault E5 rollOutNodeVersion: reports a refused step, and continues after the next change", async (stage) => {
  const { versions } = stage.activities;
  versions.changed = new Promise(() => {});
  versions.looks.set("denied", [surveyed()]);
  versions.failing = (step) =>
    step.startsWith("denied release") ? failure("AccessDenied", "patch is forbidden") : undefined;
  await rollOutNodeVersion(stage.client, config, "denied");
  await eventually("the refusal to be reported", () => doneWith(stage, "denied").includes("tell AccessDenied"));
  versions.failing = () => undefined;
  versions.looks.set("denied", [surveyed({ isSettled: true, says: "All 2" })]);
  await rollOutNodeVersion(stage.client, config, "denied");
  const handle = stage.client.workflow.getHandle(nodeVersionIdOf({ name: "denied" }));
  deepEqual(await handle.result(), { outcome: "UpToDate", says: "All 2" });
  versions.changed = Promise.resolve();
});

test("K23 rollOutNodeVersion: upgrades Kubernetes of the control planes before it releases control planes or workers", async (stage) => {
  const { versions } = stage.activities;
  const upgrade = new FakeUpgrade().on(stage);
  upgrade.approved = "";
  const { name } = upgrade;
  const [, , ...afterwards] = controlPlaneFirst();
  versions.looks.set(name, [upgradeFirst()]);
  versions.changed = new Promise(() => {});
  await rollOutNodeVersion(stage.client, config, name);
  await eventually("the request for an approval", () => upgrade.standing.reason === "AwaitingApproval");
  deepEqual(doneWith(stage, name), ["tell UpgradingKubernetes"]);
  upgrade.approved = upgrade.version;
  // The next surveys show that the upgrade is done; the run of the upgrade then wakes the run of the NodeVersion.
  versions.looks.set(name, [upgradeFirst(), ...afterwards]);
  upgrade.before = (effect) => {
    if (effect.startsWith("announce")) versions.changed = Promise.resolve();
  };
  const handle = stage.client.workflow.getHandle(nodeVersionIdOf({ name }));
  await rollOutNodeVersion(stage.client, config, name);
  deepEqual(await handle.result(), { outcome: "UpToDate", says: "All 3" });
  const done = doneWith(stage, name);
  deepEqual(upgrade.given("announce"), ["announce a", "announce c", "announce b"]);
  deepEqual([done.indexOf("release Workers of d") > 0, upgrade.violations], [true, []]);
  versions.changed = Promise.resolve();
});

test("fault K23: rollOutNodeVersion releases neither control planes nor workers after a failed upgrade of a control plane", async (stage) => {
  const { versions } = stage.activities;
  const upgrade = new FakeUpgrade().on(stage);
  const { name } = upgrade;
  const [, , ...afterwards] = controlPlaneFirst();
  versions.looks.set(name, [upgradeFirst()]);
  versions.changed = new Promise(() => {});
  upgrade.meet = (order) =>
    order === "Node c" ? { outcome: "Refused", reason: "KubeadmRefused", message: "no space left" } : undefined;
  await rollOutNodeVersion(stage.client, config, name);
  await eventually("the failure", () => upgrade.standing.reason === "UpgradeHalted");
  await rollOutNodeVersion(stage.client, config, name);
  deepEqual(doneWith(stage, name), ["tell UpgradingKubernetes"]);
  deepEqual([upgrade.given("announce"), upgrade.cordoned()], [["announce a"], ["c"]]);
  Object.assign(upgrade, { meet: () => undefined, retry: "fixed" });
  await eventually("the end of the upgrade", () => upgrade.standing.reason === "UpToDate");
  versions.looks.set(name, [upgradeFirst(), ...afterwards]);
  versions.changed = Promise.resolve();
  await rollOutNodeVersion(stage.client, config, name);
  const handle = stage.client.workflow.getHandle(nodeVersionIdOf({ name }));
  deepEqual(await handle.result(), { outcome: "UpToDate", says: "All 3" });
  deepEqual([doneWith(stage, name).includes("release Workers of d"), upgrade.violations], [true, []]);
});

test("fault K23 rollOutNodeVersion: replaces status UpgradeCancelled by UpToDate when the version was reverted", async (stage) => {
  const { versions } = stage.activities;
  const upgrade = new FakeUpgrade().on(stage);
  upgrade.version = upgrade.cluster;
  upgrade.standing = { reason: "UpgradeCancelled", message: "The upgrade of Kubernetes was cancelled" };
  const { name } = upgrade;
  const [settled] = controlPlaneFirst().slice(-1);
  versions.looks.set(name, [{ ...settled!, upgrade: { state: "Possible", says: upgrade.standing.message } }]);
  await rollOutNodeVersion(stage.client, config, name);
  const handle = stage.client.workflow.getHandle(nodeVersionIdOf({ name }));
  deepEqual(await handle.result(), { outcome: "UpToDate", says: "All 3" });
  await eventually("the present state", () => upgrade.standing.reason === "UpToDate");
});

test("fault K23 rollOutNodeVersion: starts a cancelled upgrade again immediately when a person requests it", async (stage) => {
  const { versions } = stage.activities;
  const upgrade = new FakeUpgrade().on(stage);
  upgrade.approved = "";
  const { name } = upgrade;
  versions.changed = new Promise(() => {});
  versions.looks.set(name, [upgradeFirst()]);
  await rollOutNodeVersion(stage.client, config, name);
  await eventually("the request for an approval", () => upgrade.standing.reason === "AwaitingApproval");
  const run = stage.client.workflow.getHandle(upgradeIdOf({ name }));
  const asked = Promise.withResolvers<void>();
  versions.changed = asked.promise;
  versions.looks.set(name, [upgradeFirst({ upgrade: { state: "Cancelled", says: "" } })]);
  await run.cancel();
  await eventually("the cancellation", () => doneWith(stage, name).includes("tell UpgradeCancelled"));
  versions.looks.set(name, [upgradeFirst()]);
  asked.resolve();
  await eventually("another run", async () => (await run.describe()).status.name === "RUNNING");
  versions.changed = new Promise(() => {});
  await run.terminate();
  await stage.client.workflow.getHandle(nodeVersionIdOf({ name })).terminate();
  versions.changed = Promise.resolve();
});

test("fault K23 rollOutNodeVersion: uncordons the control plane of a cancelled upgrade when its NodeVersion is deleted", async (stage) => {
  const { versions } = stage.activities;
  const upgrade = new FakeUpgrade().on(stage);
  const { name } = upgrade;
  upgrade.plane("a").isCordoned = true;
  const deleted = Promise.withResolvers<void>();
  versions.changed = deleted.promise;
  versions.looks.set(name, [upgradeFirst({ upgrade: { state: "Cancelled", says: "" } })]);
  await rollOutNodeVersion(stage.client, config, name);
  await eventually("the cancellation", () => doneWith(stage, name).includes("tell UpgradeCancelled"));
  versions.looks.delete(name);
  upgrade.isGone = true;
  deleted.resolve();
  versions.changed = Promise.resolve();
  await stage.client.workflow.getHandle(nodeVersionIdOf({ name })).result();
  await eventually("the end of the cordon", () => upgrade.cordoned().length === 0);
});

test("rollOutNodeVersion: signals an upgrade that runs already, and starts one that was terminated", async (stage) => {
  const { versions } = stage.activities;
  const upgrade = new FakeUpgrade().on(stage);
  upgrade.approved = "";
  const { name } = upgrade;
  await upgrade.start(stage);
  await eventually("the first survey", () => upgrade.standing.reason === "AwaitingApproval");
  versions.changed = new Promise(() => {});
  versions.looks.set(name, [upgradeFirst()]);
  await rollOutNodeVersion(stage.client, config, name);
  await eventually("its wait", () => doneWith(stage, name).includes("tell UpgradingKubernetes"));
  const run = stage.client.workflow.getHandle(upgradeIdOf({ name }));
  const signals = async (): Promise<number> =>
    ((await run.fetchHistory()).events ?? []).filter((event) => event.workflowExecutionSignaledEventAttributes).length;
  await eventually("the signal", async () => await signals() === 2);
  const { runId } = await run.describe();
  await run.terminate();
  await rollOutNodeVersion(stage.client, config, name);
  await eventually("another run", async () => {
    const { runId: now, status } = await run.describe();
    return now !== runId && status.name === "RUNNING";
  });
  await run.terminate();
  await stage.client.workflow.getHandle(nodeVersionIdOf({ name })).terminate();
  versions.changed = Promise.resolve();
});

test("discoverScalingGroups: returns the number of groups, and the objects that it created and deleted", async (stage) => {
  const options = { workflowId: "discover-scaling-groups", taskQueue: "ostler", args: [{}] };
  const handle = await stage.client.workflow.start("discoverScalingGroups", options);
  deepEqual(await handle.result(), { groups: 2, made: ["a"], removed: [] });
});
