/**
 * Stories to record: rollouts of NodePools, including machines that are replaced because they cannot be updated in
 * place.
 */
import { eventually } from "../support/eventually.ts";
import { FakeNodes } from "../support/fake_nodes.ts";
import { rolling } from "../support/replaced_story.ts";
import type { Handle, Stage } from "../support/workflow_stage.ts";

async function whileBooting(stage: Stage): Promise<{ nodes: FakeNodes; handle: Handle }> {
  const nodes = new FakeNodes({ nodes: 3, bootMs: 500 });
  await nodes.settle(stage);
  nodes.ask("b");
  const handle = await nodes.rollOut(stage);
  await eventually("a node down", () => nodes.down().length === 1);
  return { nodes, handle };
}

/**
 * Stories by name: each starts a run, brings it to a point from which it ends without further input, and returns it.
 */
export const nodePools: Record<string, (stage: Stage) => Promise<Handle>> = {
  "staged_rolled_soaked": async (stage) => {
    const policy = {
      budget: { machines: 2, cluster: 5 },
      inPlace: { soak: "1s" },
      waves: [{ upTo: 1 }, { upTo: "100%" }],
    };
    const nodes = new FakeNodes({ nodes: 4, policy });
    await nodes.settle(stage);
    nodes.ask("b");
    return await nodes.rollOut(stage);
  },
  "rolled_back_halted_retried": async (stage) => {
    const nodes = new FakeNodes({ nodes: 2, policy: { inPlace: { boot: "5s" } }, fate: () => "rolls back" });
    await nodes.settle(stage);
    nodes.ask("b");
    const handle = await nodes.rollOut(stage);
    await eventually("the revision in quarantine and no node in progress", async () => {
      const { quarantine, underway } = await nodes.progress(stage);
      return quarantine.length > 0 && underway.length === 0;
    });
    nodes.fate = () => "boots";
    await handle.executeUpdate("retry", { args: [{ by: "somebody" }] });
    return handle;
  },
  "aborted_while_booting": async (stage) => {
    const { handle } = await whileBooting(stage);
    await handle.executeUpdate("abort", { args: [{ by: "somebody" }] });
    return handle;
  },
  "refused_replaced": async (stage) => (await rolling(stage, { refuses: "DiskFull" })).handle,
  "lost_replaced": async (stage) => (await rolling(stage, { fate: "never comes back" })).handle,
  "superseded_while_booting": async (stage) => {
    const { nodes, handle } = await whileBooting(stage);
    nodes.ask("c");
    await handle.signal("desiredChanged", { generation: 3 });
    return handle;
  },
};
