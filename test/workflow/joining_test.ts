/** A node that was let in is admitted by a run of its own. */
import { deepEqual } from "node:assert/strict";
import { readConfig } from "../../workers/config.ts";
import { admitJoiningNode } from "../../workers/tell_joining_nodes.ts";
import { joiningNodeIdOf, waitsQueueOf } from "../../workflows/commands/start_options.ts";
import type { JoiningOutcome } from "../../workflows/contracts/mod.ts";
import { onStage } from "../support/workflow_stage.ts";

const test = onStage();
const config = readConfig({});
const annotated: JoiningOutcome = { outcome: "Annotated", node: "w", components: "k8s-components-2" };

test("admitJoiningNode ends with what became of the record, and one that is told twice is one run", async (stage) => {
  stage.activities.joining.set("twice", [annotated]);
  await Promise.all([1, 2].map(() => admitJoiningNode(stage.client, config, "twice")));
  const handle = stage.client.workflow.getHandle(joiningNodeIdOf({ name: "twice" }));
  deepEqual(await handle.result(), annotated);
  const { events } = await handle.fetchHistory();
  const queues = (events ?? []).flatMap((event) => event.activityTaskScheduledEventAttributes?.taskQueue?.name ?? []);
  deepEqual(queues, [waitsQueueOf(config.taskQueue)]);
});

test("admitJoiningNode looks again after an outage, in which nobody could see the node", async (stage) => {
  stage.activities.joining.set("unseen", [{ unseenMs: 120_000 }, annotated]);
  await admitJoiningNode(stage.client, config, "unseen");
  deepEqual(await stage.client.workflow.getHandle(joiningNodeIdOf({ name: "unseen" })).result(), annotated);
});
