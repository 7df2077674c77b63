/** Replacements of nodes while the worker is killed, a policy is reverted, or other clients change objects. */
import { deepEqual, equal, match, ok } from "node:assert/strict";
import { eventually } from "../support/eventually.ts";
import { overBudget } from "../support/fake_kube.ts";
import { converged, halted, neverReplacing, replacing, rolling } from "../support/replaced_story.ts";
import { onStage, signalChange } from "../support/workflow_stage.ts";

// Temporal suggests continue-as-new after 40 events, and no workflow stays in memory.
const test = onStage({ maxCachedWorkflows: 0, dynamicConfig: ["limit.historyCount.suggestContinueAsNew=40"] });

for (const point of ["patch machines", "delete machines", "patch nodes"]) {
  test(`ReplaceIfRefused: deletes only one machine, and keeps its slot, when the worker is killed at "${point}"`, async (stage) => {
    const world = await rolling(stage, { refuses: "DiskFull", goneMs: 500 });
    const { nodes, maker } = world;
    let restarted: Promise<unknown> | undefined;
    let isOrdered = false;
    nodes.kube.onRequest = async (request) => {
      isOrdered ||= request.startsWith("patch machines");
      if (restarted || !isOrdered || !request.startsWith(point)) return;
      restarted = stage.stopWorker().then(() => stage.startWorker());
      await new Promise((done) => setTimeout(done, 100));
      throw Object.assign(new Error("socket hang up"), { code: "ECONNRESET" });
    };
    await eventually("a kill", () => restarted);
    await restarted;
    await converged(stage, world);
    deepEqual([new Set(maker.deleted).size, maker.podsLeft, nodes.mostOut], [1, [], 1]);
  });
}

test("ReplaceIfRefused: resumes a replacement when the worker is killed at each of its steps", async (stage) => {
  const world = await rolling(stage, { fate: "never comes back", goneMs: 1500 });
  const { nodes, maker, bad } = world;
  const steps: (() => unknown)[] = [
    () => nodes.down().includes(bad),
    () => maker.gone.length > 0,
    () => nodes.nodes.size === 3 && !nodes.nodes.has(bad),
  ];
  for (const step of steps) {
    await eventually("a step", step);
    await stage.stopWorker();
    await stage.startWorker();
  }
  await converged(stage, world);
  deepEqual([new Set(maker.deleted).size, nodes.mostOut], [1, 1]);
});

test("ReplaceIfRefused: keeps the slot of a machine in deletion until its node is deleted, even if another image becomes desired", async (stage) => {
  const { nodes, maker, handle, bad } = await rolling(stage, { fate: "never comes back", goneMs: 2500 });
  await eventually("its deletion", () => maker.gone.length === 1);
  const before = nodes.given("Apply").length;
  nodes.ask("c");
  await signalChange(handle, 3);
  await eventually("others fetch it", () => nodes.given("Stage").length > before);
  ok(nodes.nodes.has(bad));
  equal(nodes.given("Apply").length, before);
  equal((await handle.result()).outcome, "Converged");
  await eventually("another node", () => nodes.nodes.size === 3);
  equal((await (await nodes.rollOut(stage)).result()).outcome, "Converged");
  deepEqual([nodes.booted(), new Set(maker.deleted).size, nodes.mostOut], ["ccc", 1, 1]);
});

test("ReplaceIfRefused: if the policy is reverted before the machine is deleted, the node is uncordoned and stays", async (stage) => {
  const { nodes, maker, handle, bad } = await rolling(stage, { refuses: "DiskFull" });
  let until = 0;
  nodes.kube.onRequest = (request) => {
    if (!request.startsWith("evict pods default/web-1")) return;
    if (until === 0) {
      until = Date.now() + 1500;
      const metadata = { namespace: "fleet", name: "p" };
      nodes.kube.put("rolloutpolicies", { metadata, spec: { selector: {}, ...neverReplacing } });
      void handle.signal("desiredChanged", { generation: 2 });
    }
    if (Date.now() < until) throw overBudget();
  };
  await eventually("it kept", () => nodes.told()?.reason === "FailedRemain");
  deepEqual([maker.deleted, nodes.cordoned(), nodes.booted(), maker.machineOf(bad)], [[], [], "abb", "pool-hash-1-1"]);
});

test("ReplaceIfRefused: if the drain is blocked past its timeout, with SetAside, the node is uncordoned and stays", async (stage) => {
  const policy = { ...replacing, drain: { timeout: "1s", onBlocked: "SetAside" } };
  const { nodes, maker, bad } = await rolling(stage, { refuses: "DiskFull", policy });
  nodes.kube.onRequest = (request) => {
    if (request.startsWith("evict pods default/web-1")) throw overBudget();
  };
  await eventually("the node to be set aside, and no other to begin", () => nodes.told()?.reason === "SetAside");
  const { setAside, underway } = await nodes.progress(stage);
  deepEqual([setAside, underway, maker.deleted, nodes.cordoned()], [[bad], [], [], []]);
});

test("ReplaceIfRefused: maxFailed limits the replacements, within the budget", async (stage) => {
  const policy = { ...replacing, maxFailed: 2, budget: { machines: 2 } };
  const { nodes, maker } = await rolling(stage, { policy, count: 6 });
  nodes.meet = ({ verb }) =>
    verb === "Stage" ? { outcome: "Refused", reason: "DiskFull", message: "everywhere" } : undefined;
  const { quarantine } = await halted(stage, nodes);
  match(quarantine[0]?.reason ?? "", /StageRefused: .*DiskFull/);
  await eventually("both gone", () => nodes.nodes.size === 6 && maker.gone.length === 2);
  deepEqual([maker.deleted.length, nodes.given("Apply"), nodes.mostOut <= 2], [2, [], true]);
});

test("ReplaceIfRefused: a new node with the name of the deleted node, and its machine, are not deleted", async (stage) => {
  const { nodes, maker, handle, bad } = await rolling(stage, { fate: "never comes back", sameName: true });
  equal((await handle.result()).outcome, "Converged");
  await eventually("another node", () => nodes.nodes.size === 3);
  equal((await (await nodes.rollOut(stage)).result()).outcome, "Converged");
  deepEqual([[...nodes.booted()].sort().join(""), maker.gone, maker.deleted.length], ["bbb", [bad], 1]);
  equal(nodes.kube.get("nodes", bad)?.metadata.uid === `uid-of-${bad}`, false);
});
