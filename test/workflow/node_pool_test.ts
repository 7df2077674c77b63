/** NodePools are updated to their image node by node, in place. */
import { deepEqual, equal, ok } from "node:assert/strict";
import { FakeNodes } from "../support/fake_nodes.ts";
import { onStage } from "../support/workflow_stage.ts";

const test = onStage();

test("NodePool: a pool whose nodes are up to date converges without an order to any node", async (stage) => {
  const nodes = new FakeNodes();
  const { outcome } = await (await nodes.rollOut(stage)).result();
  deepEqual([outcome, nodes.given("Stage"), nodes.given("Apply"), nodes.mostOut], ["Converged", [], [], 0]);
});

test("NodePool: a node stages the image before any node is ordered to boot, and nodes reboot one at a time", async (stage) => {
  const nodes = new FakeNodes({ nodes: 4 });
  await nodes.settle(stage);
  nodes.ask("b");
  const result = await (await nodes.rollOut(stage)).result();
  deepEqual([result.outcome, nodes.booted(), nodes.cordoned(), nodes.mostOut], ["Converged", "bbbb", [], 1]);
  equal(nodes.given("Apply").length, 4);
  ok(
    nodes.orders.findIndex((order) => order.startsWith("Stage")) <
      nodes.orders.findIndex((order) => order.startsWith("Apply")),
  );
});
