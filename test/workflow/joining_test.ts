/** Each JoiningNode has its own workflow, which admits the node. */
import { deepEqual } from "node:assert/strict";
import { readConfig } from "../../workers/config.ts";
import { admitJoiningNode } from "../../workers/tell_joining_nodes.ts";
import { joiningNodeIdOf } from "../../workflows/commands/start_options.ts";
import type { JoiningOutcome } from "../../workflows/contracts/mod.ts";
import { onStage } from "../support/workflow_stage.ts";

const test = onStage();
const config = readConfig({});
const annotated: JoiningOutcome = { outcome: "Annotated", node: "w", components: "k8s-components-2" };

test("admitJoiningNode: ends with outcome Annotated when the JoiningNode is signalled twice", async (stage) => {
  stage.activities.joining.set("twice", [annotated, annotated]);
  await Promise.all([1, 2].map(() => admitJoiningNode(stage.client, config, "twice")));
  const handle = stage.client.workflow.getHandle(joiningNodeIdOf({ name: "twice" }));
  deepEqual(await handle.result(), annotated);
});

test("admitJoiningNode: ends with outcome Waiting, and reads the JoiningNode again after another signal", async (stage) => {
  const waiting: JoiningOutcome = { outcome: "Waiting", says: "Waiting" };
  stage.activities.joining.set("waits", [waiting, annotated]);
  const handle = stage.client.workflow.getHandle(joiningNodeIdOf({ name: "waits" }));
  for (const outcome of [waiting, annotated]) {
    await admitJoiningNode(stage.client, config, "waits");
    deepEqual(await handle.result(), outcome);
  }
});
