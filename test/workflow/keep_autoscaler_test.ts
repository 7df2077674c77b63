/**
 * A run keeps a cluster-autoscaler as its AutoscalingStrategy describes it, and ends when nothing is left to change.
 */
import { deepEqual, equal } from "node:assert/strict";
import { readConfig } from "../../workers/config.ts";
import { keepAutoscaler } from "../../workers/tell_autoscalers.ts";
import { autoscalerIdOf } from "../../workflows/commands/start_options.ts";
import type { AutoscalerOutcome } from "../../workflows/contracts/mod.ts";
import { onStage } from "../support/workflow_stage.ts";

const test = onStage();
const config = readConfig({});
const kept = (says: string): AutoscalerOutcome => ({ outcome: "Kept", reason: "Kept", says });

test("keepAutoscaler: reads again in the same run after a change during its read", async (stage) => {
  stage.activities.autoscalers.set("changing", [kept("before"), kept("after")]);
  let looks = 0;
  stage.activities.whileKept = async (name) => {
    if (name !== "changing") return;
    looks += 1;
    if (looks === 1) await keepAutoscaler(stage.client, config, "changing");
  };
  await keepAutoscaler(stage.client, config, "changing");
  const handle = stage.client.workflow.getHandle(autoscalerIdOf({ name: "changing" }));
  deepEqual(await handle.result(), kept("after"));
  equal(looks, 2);
});

test("keepAutoscaler: ends when the strategy was deleted", async (stage) => {
  await keepAutoscaler(stage.client, config, "none");
  deepEqual(await stage.client.workflow.getHandle(autoscalerIdOf({ name: "none" })).result(), { outcome: "Gone" });
});
