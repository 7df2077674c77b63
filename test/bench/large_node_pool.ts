// deno-lint-ignore-file no-console -- this program prints its measurements
/**
 * Updates a NodePool of many simulated nodes in place, with the real activities, and prints the time for all nodes, the
 * processor time per node, and the size of the history of each run of the workflow.
 * `deno run -A test/bench/large_node_pool.ts [NODES] [AT ONCE]`.
 */
import process from "node:process";
import { FakeNodes } from "../support/fake_nodes.ts";
import { Stage } from "../support/workflow_stage.ts";
import { historyOf } from "./history.ts";

const [nodes = 1000, atOnce = 50] = Deno.args.map(Number);

const stage = new Stage();
await stage.open();
try {
  const policy = { budget: { machines: atOnce }, inPlace: { stageAtOnce: atOnce } };
  const pool = new FakeNodes({ nodes, policy, bootMs: 1000 });
  await (await pool.rollOut(stage, { deadlines: {} })).result();
  const query = `WorkflowId = "${pool.workflowId}"`;
  const before = new Set((await Array.fromAsync(stage.client.workflow.list({ query }))).map(({ runId }) => runId));
  pool.ask("b");
  pool.mostOut = 0;
  const [start, cpu] = [performance.now(), process.cpuUsage()];
  await (await pool.rollOut(stage, { deadlines: {} })).result();
  const seconds = (performance.now() - start) / 1000;
  const { user, system } = process.cpuUsage(cpu);
  const runs = (await Array.fromAsync(stage.client.workflow.list({ query }))).filter(({ runId }) => !before.has(runId));
  const sizes = [];
  for (const { runId } of runs) sizes.push(await historyOf(stage.client, pool.workflowId, runId));
  const isWhole = pool.booted() === "b".repeat(nodes) && pool.cordoned().length === 0;
  console.log(
    `${nodes} nodes, ${atOnce} at once: ${isWhole ? "all updated" : "NOT ALL UPDATED"} in ${seconds.toFixed(1)} s`,
  );
  console.log(`most nodes down or cordoned at once: ${pool.mostOut}; orders to boot: ${pool.given("Apply").length}`);
  console.log(`processor time of worker and nodes: ${((user + system) / 1000 / nodes).toFixed(1)} ms a node`);
  console.log(`${runs.length} runs: ${JSON.stringify(sizes)}`);
} finally {
  await stage.close();
}
Deno.exit(0);
