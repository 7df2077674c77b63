/**
 * A7: every step of an update in place is broken off, before it has done anything and after it has done all, and given again
 * to a worker that remembers nothing. To Temporal that is what a killed worker looks like.
 */
import { deepEqual, equal, ok } from "node:assert/strict";
import { assertAllBroken, breakEachOnce } from "../support/broken_steps.ts";
import { eventually } from "../support/eventually.ts";
import { NodeStage } from "../support/node_stage.ts";
import { onStage } from "../support/workflow_stage.ts";
import type { Handle, Stage } from "../support/workflow_stage.ts";

const test = onStage({ maxCachedWorkflows: 0 });

/** Starts a rollout whose steps are broken off once at each point. */
async function breakOff(stage: Stage, nodes: NodeStage): Promise<{ handle: Handle; broken: Set<string> }> {
  const handle = await nodes.rollOut(stage);
  const { others } = stage.activities;
  const { steps, broken } = breakEachOnce(others.get(nodes.pool.name) ?? {});
  others.set(nodes.pool.name, steps as never);
  return { handle, broken };
}

test("A7 broken off before and after every step, each node boots once and none stays cordoned", async (stage) => {
  const nodes = new NodeStage({ nodes: 2, policy: { inPlace: { soak: "1s" }, budget: { machines: 1, cluster: 1 } } });
  await nodes.settle(stage);
  nodes.ask("b");
  const { handle, broken } = await breakOff(stage, nodes);
  const { outcome } = await handle.result();
  const boots = [...nodes.nodes.values()].map((each) => each.boots);
  deepEqual([outcome, nodes.booted(), boots, nodes.mostOut, nodes.cordoned()], ["Converged", "bb", [2, 2], 1, []]);
  const steps = ["awaitImageStaged", "awaitNodeEmptied", "awaitBootOrdered", "awaitNodeBooted", "ensureVictimUnmarked"];
  assertAllBroken(broken, [...steps, "ensureSlotTaken", "ensureSlotsKept", "readPool"]);
});

test("A7 broken off before and after every step of one that rolls back, it is counted once and serves", async (stage) => {
  const nodes = new NodeStage({ nodes: 3, policy: { maxFailed: 2 }, fate: () => "rolls back" });
  await nodes.settle(stage);
  nodes.ask("b");
  const { handle, broken } = await breakOff(stage, nodes);
  await stage.stands(handle, "Halted");
  assertAllBroken(broken, ["ensureImageFailed", "awaitNodeBooted"]);
  await eventually("nothing cordoned", () => nodes.cordoned().length === 0);
  deepEqual([nodes.booted(), nodes.mostOut], ["aaa", 1]);
  equal(new Set(nodes.given("Apply")).size, 2);
  ok([...nodes.nodes.values()].every(({ boots }) => boots <= 2));
  await handle.terminate();
});
