/** Updates in place while the worker is killed, objects are deleted, or other clients change objects. */
import { deepEqual, equal, match } from "node:assert/strict";
import { eventually } from "../support/eventually.ts";
import { digestOf, FakeNodes } from "../support/fake_nodes.ts";
import { onStage, signalChange } from "../support/workflow_stage.ts";

// Temporal suggests continue-as-new after 40 events, and no workflow stays in memory.
const test = onStage({ maxCachedWorkflows: 0, dynamicConfig: ["limit.historyCount.suggestContinueAsNew=40"] });

test("A7 update in place: no node is ordered to boot twice, and no slot is lost, when the worker is killed during a reboot", async (stage) => {
  const nodes = new FakeNodes({ nodes: 3, bootMs: 1500 });
  await nodes.settle(stage);
  nodes.ask("b");
  const handle = await nodes.rollOut(stage);
  await eventually("a node down", () => nodes.down().length === 1);
  await stage.stopWorker();
  await stage.startWorker();
  equal((await handle.result()).outcome, "Converged");
  deepEqual([nodes.booted(), nodes.given("Apply").length, nodes.mostOut, nodes.cordoned()], ["bbb", 3, 1, []]);
});

test("A7 update in place: resumes when the worker is killed after each order", async (stage) => {
  const nodes = new FakeNodes({ nodes: 2, policy: { inPlace: { soak: "1s" } } });
  await nodes.settle(stage);
  nodes.ask("b");
  const handle = await nodes.rollOut(stage);
  for (const verb of ["Check", "Stage", "Apply", "Status"] as const) {
    await eventually(verb, () => nodes.given(verb).length > 0);
    await stage.stopWorker();
    await stage.startWorker();
  }
  equal((await handle.result()).outcome, "Converged");
  deepEqual([nodes.booted(), nodes.given("Apply").length, nodes.mostOut, nodes.cordoned()], ["bb", 2, 1, []]);
});

test("update in place: a new run of the chain continues updates, and orders no node to boot twice", async (stage) => {
  const nodes = new FakeNodes({ nodes: 8 });
  await nodes.settle(stage);
  nodes.ask("b");
  const first = await nodes.rollOut(stage);
  const { runId } = await first.describe();
  equal((await first.result()).outcome, "Converged");
  const last = await stage.client.workflow.getHandle(nodes.workflowId).describe();
  deepEqual([nodes.booted(), nodes.given("Apply").length, nodes.mostOut, last.runId === runId], [
    "bbbbbbbb",
    8,
    1,
    false,
  ]);
});

test("A8 H10 update in place: a node cordoned by a person stays cordoned", async (stage) => {
  const nodes = new FakeNodes({ nodes: 2 });
  await nodes.settle(stage);
  const name = `${nodes.name}-2`;
  const node = nodes.kube.get("nodes", name);
  nodes.kube.put("nodes", { ...node, metadata: { ...node?.metadata, name }, spec: { unschedulable: true } });
  nodes.ask("b");
  equal((await nodes.settle(stage)).outcome, "Converged");
  deepEqual([nodes.booted(), nodes.cordoned()], ["bb", [name]]);
});

test("H2 H14 H15 update in place: control planes are never members, whatever the selector, so that etcd is not touched", async (stage) => {
  const labels = (nth: number): Record<string, string> =>
    nth === 1 ? { "node-role.kubernetes.io/control-plane": "" } : {};
  const nodes = new FakeNodes({ nodes: 3, labels });
  nodes.ask("b");
  equal((await (await nodes.rollOut(stage)).result()).outcome, "Converged");
  deepEqual([nodes.booted(), nodes.given("Check").includes(`${nodes.name}-1`)], ["abb", false]);
});

test("update in place: a pool deleted during a reboot leaves no node cordoned", async (stage) => {
  const nodes = new FakeNodes({ nodes: 2, bootMs: 60_000 });
  await nodes.settle(stage);
  nodes.ask("b");
  const handle = await nodes.rollOut(stage);
  await eventually("a node down", () => nodes.down().length === 1);
  const found = nodes.kube.get("nodepools", nodes.name, "fleet");
  const metadata = { ...found?.metadata, name: nodes.name, deletionTimestamp: new Date().toISOString() };
  nodes.kube.put("nodepools", { ...found, metadata });
  await signalChange(handle, 3);
  await handle.result();
  deepEqual([nodes.cordoned(), nodes.kube.get("nodepools", nodes.name, "fleet")], [[], undefined]);
});

test("update in place: a node deleted during its reboot ends the wait", async (stage) => {
  const nodes = new FakeNodes({ nodes: 3, bootMs: 60_000 });
  await nodes.settle(stage);
  nodes.ask("b");
  const handle = await nodes.rollOut(stage);
  await eventually("a node down", () => nodes.down().length === 1);
  const [gone = ""] = nodes.down();
  nodes.kube.remove("nodes", gone);
  nodes.nodes.delete(gone);
  nodes.bootMs = 20;
  equal((await handle.result()).outcome, "Converged");
  deepEqual([nodes.booted(), nodes.cordoned()], ["bb", []]);
});

test("update in place: a pool halts, and gives no order, when another pool selects one of its nodes", async (stage) => {
  const nodes = new FakeNodes({ nodes: 2 });
  const found = nodes.kube.get("nodepools", nodes.name, "fleet");
  nodes.kube.put("nodepools", { ...found, metadata: { namespace: "other", name: "rival", uid: "uid-of-another" } });
  nodes.ask("b");
  await nodes.rollOut(stage);
  const { message } = await eventually("a halt", async () => {
    const progress = await nodes.progress(stage);
    return progress.phase === "Halted" && progress.reason === "NodeClaimedTwice" && progress;
  });
  match(message, /NodePool "other\/rival" also selects node "edge\d+-1"/);
  deepEqual([nodes.orders, nodes.mostOut], [[], 0]);
});

test("H1 update in place: a budget of 2 updates two nodes at once, and a wave begins after the end of the previous one", async (stage) => {
  const policy = { budget: { machines: 2 }, waves: [{ upTo: 1, soak: "3s" }, { upTo: "100%" }] };
  const nodes = new FakeNodes({ nodes: 6, policy, bootMs: 200 });
  await nodes.settle(stage);
  nodes.ask("b");
  const handle = await nodes.rollOut(stage);
  await eventually("the first soak", async () => (await nodes.progress(stage)).waves[0]?.state === "Soaking");
  deepEqual([nodes.given("Apply").length, nodes.booted().match(/b/g)?.length], [1, 1]);
  equal((await handle.result()).outcome, "Converged");
  deepEqual([nodes.booted(), nodes.mostOut], ["bbbbbb", 2]);
});

test("H13 update in place: a paused pool begins no update, and finishes the running ones", async (stage) => {
  const nodes = new FakeNodes({ nodes: 3, fate: () => "never comes back" });
  await nodes.settle(stage);
  nodes.ask("b");
  const handle = await nodes.rollOut(stage);
  await eventually("a node down", () => nodes.down().length === 1);
  const first = nodes.down();
  await handle.executeUpdate("pause", { args: [{ by: "somebody" }] });
  // Lets the node boot only now, so that the pool was paused before, however long the command took.
  nodes.fate = () => "boots";
  for (const name of nodes.down()) nodes.comeUp(name, digestOf("b"));
  await eventually("it serves again", () => nodes.cordoned().length === 0);
  // A run that continues as new during the order repeats the order for the same boot, so each node is counted once.
  deepEqual([[...new Set(nodes.given("Apply"))], (await nodes.progress(stage)).paused], [first, true]);
  await handle.executeUpdate("resume", { args: [{ by: "somebody" }] });
  equal((await handle.result()).outcome, "Converged");
  equal(nodes.booted(), "bbb");
});
