/**
 * A7: every step of an update in place fails once before and once after its work, and is repeated by a worker that
 * keeps no workflow in memory. For Temporal, this looks like a killed worker.
 */
import { deepEqual, equal, ok } from "node:assert/strict";
import { assertAllBroken, breakEachOnce } from "../support/broken_steps.ts";
import { eventually } from "../support/eventually.ts";
import { FakeNodes } from "../support/fake_nodes.ts";
import { onStage } from "../support/workflow_stage.ts";
import type { Handle, Stage } from "../support/workflow_stage.ts";

const test = onStage({ maxCachedWorkflows: 0 });

/** Starts a rollout in which each step fails once before and once after its work. */
async function breakOff(stage: Stage, nodes: FakeNodes): Promise<{ handle: Handle; broken: Set<string> }> {
  const handle = await nodes.rollOut(stage);
  const { others } = stage.activities;
  const { steps, broken } = breakEachOnce(others.get(nodes.pool.name) ?? {});
  others.set(nodes.pool.name, steps as never);
  return { handle, broken };
}

test("A7 update in place: interrupted before and after every step, each node boots once and none stays cordoned", async (stage) => {
  const nodes = new FakeNodes({ nodes: 2, policy: { inPlace: { soak: "1s" }, budget: { machines: 1, cluster: 1 } } });
  await nodes.settle(stage);
  nodes.ask("b");
  const { handle, broken } = await breakOff(stage, nodes);
  const { outcome } = await handle.result();
  const boots = [...nodes.nodes.values()].map((each) => each.boots);
  deepEqual([outcome, nodes.booted(), boots, nodes.mostOut, nodes.cordoned()], ["Converged", "bb", [2, 2], 1, []]);
  const steps = ["awaitImageStaged", "awaitNodeEmptied", "awaitBootOrdered", "awaitNodeBooted", "ensureVictimUnmarked"];
  assertAllBroken(broken, [...steps, "ensureSlotTaken", "ensureSlotsKept", "readPool"]);
});

test("A7 update in place: interrupted before and after every step, a node that rolled back counts as failed once and is uncordoned", async (stage) => {
  const nodes = new FakeNodes({ nodes: 3, policy: { maxFailed: 2 }, fate: () => "rolls back" });
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
