/**
 * Nodes that update themselves: a FleetLock uses a slot of the budget, and a node gets the lock under the same rules as
 * an update that Ostler orders.
 */
import { deepEqual, equal } from "node:assert/strict";
import { setTimeout } from "node:timers/promises";
import { eventually } from "../support/eventually.ts";
import { overBudget } from "../support/fake_kube.ts";
import { FakeNodes, type FakeNodesOptions } from "../support/fake_nodes.ts";
import { onStage } from "../support/workflow_stage.ts";

const test = onStage();

function selfUpdating(options: FakeNodesOptions): { nodes: FakeNodes; names: string[] } {
  const nodes = new FakeNodes(options);
  nodes.letUpdateThemselves();
  return { nodes, names: [...nodes.nodes.keys()] };
}

function ask(nodes: FakeNodes, ...names: string[]): void {
  for (const name of names) {
    nodes.setLock(name, { id: "0".repeat(32), group: "default", asked: Date.now(), held: 0, failed: 0, bootId: "" });
  }
}

function holders(nodes: FakeNodes): string[] {
  return [...nodes.nodes.keys()].filter((name) => nodes.lockOf(name)?.held);
}

const aHolder = (nodes: FakeNodes): Promise<string> => eventually("a lock", () => Promise.resolve(holders(nodes)[0]));

/** A time in which a run would grant a lock, if it could. */
const quietMs = 1_500;

test("FleetLock: two nodes that ask at the same time reboot one after the other", async (stage) => {
  const { nodes, names: [one = "", two = ""] } = selfUpdating({ nodes: 3 });
  ask(nodes, one, two);
  const handle = await nodes.rollOut(stage);
  const first = await aHolder(nodes);
  await setTimeout(quietMs);
  deepEqual([holders(nodes), nodes.cordoned()], [[first], [first]]);
  nodes.comeUp(first, "b");
  nodes.setLock(first, undefined);
  const second = await aHolder(nodes);
  equal(second, first === one ? two : one);
  deepEqual(nodes.cordoned(), [second]);
  nodes.setLock(second, undefined);
  equal((await handle.result()).outcome, "Converged");
  deepEqual([nodes.cordoned(), nodes.orders], [[], []]);
});

test("FleetLock: no node gets a lock outside the windows, or while the pool is paused", async (stage) => {
  const policy = { windows: [{ cron: "0 0 29 2 *", duration: "1m" }] };
  const { nodes, names: [one = ""] } = selfUpdating({ policy });
  ask(nodes, one);
  const handle = await nodes.rollOut(stage);
  const reasons = async (reason: string): Promise<boolean> =>
    JSON.stringify(await nodes.progress(stage)).includes(`"${reason}"`);
  await eventually("a window waited for", () => reasons("OutsideWindow"));
  await handle.signal("pauseRequested", { by: "somebody", reason: "freeze" });
  await eventually("a pause", () => reasons("Paused"));
  await setTimeout(quietMs);
  deepEqual([holders(nodes), nodes.cordoned()], [[], []]);
});

test("FleetLock: a node that does not release its lock in time keeps lock and slot, and no other node gets a lock", async (stage) => {
  const policy = { inPlace: { boot: "1s" }, maxFailed: 5 };
  const { nodes, names: [one = "", two = ""] } = selfUpdating({ policy });
  ask(nodes, one);
  await nodes.rollOut(stage);
  await aHolder(nodes);
  ask(nodes, two);
  await eventually("it given up", () => Promise.resolve(nodes.lockOf(one)?.failed));
  await setTimeout(quietMs);
  deepEqual([holders(nodes), nodes.cordoned()], [[one], [one]]);
});

test("FleetLock: another node gets a lock when the node that has one is deleted", async (stage) => {
  const { nodes, names: [one = "", two = ""] } = selfUpdating({});
  ask(nodes, one);
  await nodes.rollOut(stage);
  await aHolder(nodes);
  ask(nodes, two);
  nodes.nodes.delete(one);
  nodes.kube.remove("nodes", one);
  await eventually("the other granted", () => Promise.resolve(nodes.lockOf(two)?.held));
});

test("FleetLock: a node that requests the lock during its soak gets it after the soak", async (stage) => {
  const { nodes, names: [one = ""] } = selfUpdating({ nodes: 1, policy: { inPlace: { soak: "1s" } } });
  ask(nodes, one);
  const handle = await nodes.rollOut(stage);
  await aHolder(nodes);
  nodes.comeUp(one, "b");
  nodes.setLock(one, undefined);
  await eventually("a soak", async () => (await nodes.progress(stage)).underway[0]?.step === "Soaking");
  ask(nodes, one);
  await handle.signal("desiredChanged", { generation: 1 });
  await aHolder(nodes);
  nodes.setLock(one, undefined);
  equal((await handle.result()).outcome, "Converged");
});

test("FleetLock: a node that has the lock when the rollout is aborted keeps lock and slot, so that no other node gets the lock", async (stage) => {
  const { nodes, names: [one = "", two = ""] } = selfUpdating({ nodes: 2 });
  ask(nodes, two);
  const first = await nodes.rollOut(stage);
  await aHolder(nodes);
  await first.executeUpdate("abort", { args: [{ by: "somebody" }] });
  equal((await first.result()).outcome, "Aborted");
  ask(nodes, one);
  await nodes.rollOut(stage);
  await setTimeout(quietMs);
  deepEqual(holders(nodes), [two]);
});

test("FleetLock: a node is drained before it gets its lock", async (stage) => {
  const { nodes, names: [one = ""] } = selfUpdating({ nodes: 1 });
  const pod = {
    metadata: { namespace: "default", name: "web-1" },
    spec: { nodeName: one },
    status: { phase: "Running" },
  };
  nodes.kube.put("pods", pod);
  let isBlocked = true;
  nodes.kube.onRequest = (request) => {
    if (isBlocked && request.startsWith("evict pods default/web-1")) throw overBudget();
  };
  ask(nodes, one);
  const handle = await nodes.rollOut(stage);
  await eventually("a drain", () => nodes.cordoned().length === 1);
  await setTimeout(quietMs);
  deepEqual(holders(nodes), []);
  isBlocked = false;
  equal(await aHolder(nodes), one);
  equal(nodes.kube.get("pods", "web-1", "default"), undefined);
  nodes.setLock(one, undefined);
  equal((await handle.result()).outcome, "Converged");
});
