/**
 * The verdict, such as RolledBack or Lost, on a node that was ordered to boot, and its effect on the pool.
 */
import { deepEqual, equal, match, ok } from "node:assert/strict";
import { overBudget } from "../support/fake_kube.ts";
import { eventually } from "../support/eventually.ts";
import { digestOf, FakeNodes, imageOf } from "../support/fake_nodes.ts";
import type { FakeNodesOptions } from "../support/fake_nodes.ts";
import { gateKeysOf } from "../support/gate_keys.ts";
import { onStage, testDeadlines } from "../support/workflow_stage.ts";
import type { Handle, Stage } from "../support/workflow_stage.ts";
import type { Progress } from "../../workflows/contracts/mod.ts";

const test = onStage();

const soon = { stage: "20s", boot: "1s" };

/** Starts a rollout from image "a" to image "b". */
async function rolling(stage: Stage, options: FakeNodesOptions): Promise<{ nodes: FakeNodes; handle: Handle }> {
  const nodes = new FakeNodes({ nodes: 4, ...options });
  await nodes.settle(stage);
  nodes.ask("b");
  return { nodes, handle: await nodes.rollOut(stage) };
}

async function halted(stage: Stage, nodes: FakeNodes): Promise<Progress> {
  return await eventually("a halt", async () => {
    const progress = await nodes.progress(stage);
    return progress.quarantine.length > 0 && progress.underway.length === 0 && progress;
  });
}

test("A4 verdicts: a node that boots the old digest is RolledBack, and two such nodes halt a pool with maxFailed 2", async (stage) => {
  const policy = { maxFailed: 2, inPlace: soon };
  const { nodes } = await rolling(stage, { policy, fate: () => "rolls back" });
  const { quarantine } = await halted(stage, nodes);
  match(quarantine[0]?.reason ?? "", /UpdateRolledBack: .*booted "sha256:a+" instead of "sha256:b+"/);
  deepEqual([nodes.given("Apply").length, nodes.booted(), nodes.cordoned(), nodes.mostOut], [2, "aaaa", [], 1]);
});

test("verdicts: a node on which a digest failed gets that digest again only after the command retry, even with a new workflow", async (stage) => {
  const { nodes, handle } = await rolling(stage, { policy: { inPlace: soon }, fate: () => "rolls back" });
  await halted(stage, nodes);
  const [failed = ""] = nodes.given("Apply");
  // As after a new installation of Ostler: the next run knows only what the Nodes and the Rollout record.
  await handle.terminate("reinstalled");
  await nodes.rollOut(stage);
  await stage.client.workflow.getHandle(nodes.workflowId).query("progress");
  await eventually("a look", async () => (await nodes.progress(stage)).counts?.old === 4);
  deepEqual(nodes.given("Apply"), [failed]);
  nodes.fate = () => "boots";
  const again = stage.client.workflow.getHandle(nodes.workflowId);
  await again.executeUpdate("retry", { args: [{ by: "somebody" }] });
  equal((await again.result() as { outcome: string }).outcome, "Converged");
  deepEqual([nodes.booted(), nodes.given("Apply").filter((node) => node === failed).length], ["bbbb", 2]);
});

test("A1 verdicts: a node that never returns is Lost at its deadline and keeps its slot, and no other node reboots", async (stage) => {
  const { nodes } = await rolling(stage, { policy: { inPlace: soon }, fate: () => "never comes back" });
  const { quarantine } = await halted(stage, nodes);
  match(quarantine[0]?.reason ?? "", /UpdateLost: .*[Tt]he node is not Ready, and has not reported a reboot/);
  deepEqual([nodes.down(), nodes.cordoned(), nodes.mostOut], [nodes.given("Apply"), nodes.given("Apply"), 1]);
});

test("H17 verdicts: a dead node gets no second order, and no other node starts, however often the pool is read", async (stage) => {
  const policy = { maxFailed: 3, inPlace: soon };
  const { nodes } = await rolling(stage, { policy, fate: () => "never comes back" });
  await eventually(
    "the verdict",
    async () => (await nodes.progress(stage)).underway.length === 0 && nodes.down().length === 1,
  );
  const before = nodes.orders.length;
  // The failure of the dead node is tolerated, but the budget has no slot for another node.
  await eventually("more looks", async () => (await nodes.progress(stage)).counts?.unhealthy === 1);
  for (let looks = 0; looks < 3; looks++) {
    await stage.client.workflow.getHandle(nodes.workflowId).signal("desiredChanged", { generation: 2 });
  }
  await eventually("looks", async () => (await nodes.progress(stage)).counts?.old === 4);
  deepEqual([nodes.orders.length - before, nodes.given("Apply").length, nodes.down().length], [0, 1, 1]);
});

test("H7 verdicts: a node that is Ready again without a boot does not count as updated", async (stage) => {
  const { nodes } = await rolling(stage, { policy: { inPlace: soon }, fate: () => "stays up" });
  const { quarantine } = await halted(stage, nodes);
  match(quarantine[0]?.reason ?? "", /UpdateNotBooted/);
  deepEqual([nodes.given("Apply").length, nodes.cordoned()], [1, nodes.given("Apply")]);
});

test("verdicts: a node that booted the image, but whose kubelet did not start, is NotReady, and stays out of service", async (stage) => {
  const { nodes } = await rolling(stage, { policy: { inPlace: soon }, fate: () => "comes back without kubelet" });
  const { quarantine } = await halted(stage, nodes);
  match(quarantine[0]?.reason ?? "", /UpdateNotReady/);
  deepEqual(nodes.cordoned(), nodes.given("Apply"));
});

test("A3 H3 verdicts: a failed download of the image never counts as done, and is repeated after retry", async (stage) => {
  const nodes = new FakeNodes({ nodes: 1 });
  await nodes.settle(stage);
  let tries = 0;
  nodes.meet = ({ verb }) =>
    verb === "Stage" && tries++ === 0
      ? { outcome: "Refused", reason: "ImageNotFound", message: "manifest unknown" }
      : undefined;
  nodes.ask("b");
  const handle = await nodes.rollOut(stage);
  const { quarantine } = await halted(stage, nodes);
  match(quarantine[0]?.reason ?? "", /StageRefused: .*ImageNotFound: manifest unknown/);
  deepEqual([nodes.booted(), nodes.cordoned(), nodes.given("Apply")], ["a", [], []]);
  await handle.executeUpdate("retry", { args: [{ by: "somebody" }] });
  equal((await handle.result()).outcome, "Converged");
  deepEqual([nodes.booted(), nodes.given("Stage").length], ["b", 2]);
});

test("verdicts: obstacles to an update are named before any node is cordoned", async (stage) => {
  const nodes = new FakeNodes({ nodes: 2 });
  await nodes.settle(stage);
  nodes.findings = [{ kind: "OtherUpdater", stops: true, message: 'unit "zincati.service" is enabled' }];
  nodes.ask("b");
  await nodes.rollOut(stage);
  const { quarantine } = await halted(stage, nodes);
  match(quarantine[0]?.reason ?? "", /StageRefused: .*OtherUpdater: unit "zincati.service" is enabled/);
  deepEqual([nodes.given("Stage"), nodes.mostOut], [[], 0]);
});

test("A5 verdicts: a rollback to an earlier digest needs no registry", async (stage) => {
  const nodes = new FakeNodes({ nodes: 2 });
  await nodes.settle(stage);
  nodes.ask("b");
  await nodes.settle(stage);
  equal(nodes.booted(), "bb");
  nodes.ask("a");
  await nodes.settle(stage);
  equal(nodes.booted(), "aa");
  const nodesBack = nodes.kube.all("nodes").map(({ metadata }) =>
    (metadata.annotations as Record<string, string>)["ostler.dev/node-os"]
  );
  ok(nodesBack.every((note) => JSON.parse(note ?? "{}").booted === digestOf("a")));
});

test("onFailure: Rollback returns the pool to the previous image, which the nodes have kept", async (stage) => {
  const policy = { onFailure: "Rollback", maxFailed: 1, inPlace: soon };
  const nodes = new FakeNodes({ nodes: 3, policy });
  await nodes.settle(stage);
  let booted = 0;
  nodes.fate = (_, digest) => digest === digestOf("b") && ++booted > 1 ? "rolls back" : "boots";
  nodes.ask("b");
  const { outcome } = await (await nodes.rollOut(stage)).result();
  deepEqual([outcome, nodes.booted(), nodes.cordoned(), nodes.given("GoBack").length], ["RolledBack", "aaa", [], 1]);
  const spec = nodes.kube.get("nodepools", nodes.name, "fleet")?.["spec"] as { image: object };
  deepEqual(spec.image, { reference: imageOf("a") });
});

test("retry: during a rollback, a node that failed to boot the previous image gets that image again", async (stage) => {
  const policy = { onFailure: "Rollback", maxFailed: 1, inPlace: soon };
  const nodes = new FakeNodes({ nodes: 3, policy });
  await nodes.settle(stage);
  let [boots, isSick] = [0, true];
  nodes.fate = (_, digest) => {
    if (digest === digestOf("b")) return ++boots > 1 ? "rolls back" : "boots";
    return isSick ? "stays up" : "boots";
  };
  nodes.ask("b");
  const handle = await nodes.rollOut(stage);
  const isFailed = async (): Promise<boolean> => (await nodes.progress(stage)).reason === "FailedRemain";
  await eventually("a failure of the previous image", isFailed);
  equal(nodes.booted(), "baa");
  isSick = false;
  await handle.executeUpdate("retry", { args: [{ by: "ada" }] });
  equal((await handle.result()).outcome, "RolledBack");
  deepEqual([nodes.booted(), nodes.cordoned()], ["aaa", []]);
});

test("abort: rolls back to the previous image", async (stage) => {
  const { nodes, handle } = await rolling(stage, { bootMs: 300 });
  await eventually("one updated", () => nodes.booted().includes("b"));
  await handle.executeUpdate("abort", { args: [{ by: "somebody" }] });
  equal((await handle.result()).outcome, "Aborted");
  deepEqual([nodes.booted(), nodes.cordoned(), nodes.mostOut], ["aaaa", [], 1]);
});

test("A9 H9 drain: SetAside keeps a node in service whose drain a PodDisruptionBudget blocks past the timeout", async (stage) => {
  const policy = { drain: { timeout: "1s", onBlocked: "SetAside" }, inPlace: soon };
  const nodes = new FakeNodes({ nodes: 2, policy });
  await nodes.settle(stage);
  const stuck = `${nodes.name}-1`;
  const labels = { app: "web" };
  nodes.kube.put("pods", {
    metadata: { namespace: "default", name: "web-1", labels },
    spec: { nodeName: stuck },
    status: { phase: "Running" },
  });
  nodes.kube.onRequest = (request) => {
    if (request.startsWith("evict pods default/web-1")) throw overBudget();
  };
  nodes.ask("b");
  await nodes.rollOut(stage, { deadlines: { ...testDeadlines, recheck: 300 } });
  const { setAside } = await eventually("the other one", async () => {
    const progress = await nodes.progress(stage);
    return nodes.booted() === "ab" && progress.setAside.length > 0 && progress.underway.length === 0 && progress;
  });
  deepEqual([setAside, nodes.cordoned(), nodes.given("Apply")], [[stuck], [], [`${nodes.name}-2`]]);
});

test("verdicts: a node that failed its gates stays out of service, and keeps its slot", async (stage) => {
  const gates = [{ name: "agent", nodeCondition: { type: "Ready", status: "False" }, within: "1s" }];
  const policy = { maxFailed: 3, gates, inPlace: soon };
  const nodes = new FakeNodes({ nodes: 3 });
  await nodes.settle(stage);
  nodes.kube.put("rolloutpolicies", { metadata: { namespace: "fleet", name: "p" }, spec: { selector: {}, ...policy } });
  nodes.ask("b");
  const handle = await nodes.rollOut(stage);
  await eventually("the gate failed", async () => {
    const { underway, failedMachines } = await nodes.progress(stage);
    return failedMachines === 1 && underway.every(({ step }) => step === "Staging");
  });
  for (let looks = 0; looks < 3; looks++) await handle.signal("desiredChanged", { generation: 2 });
  await eventually("looks", async () => (await nodes.progress(stage)).counts?.old === 2);
  deepEqual([nodes.given("Apply").length, nodes.cordoned(), nodes.mostOut], [1, nodes.given("Apply"), 1]);
  nodes.kube.remove("rolloutpolicies", "p", "fleet");
  await handle.executeUpdate("retry", { args: [{ by: "somebody" }] });
  equal((await handle.result()).outcome, "Converged");
  deepEqual([nodes.booted(), nodes.cordoned(), nodes.mostOut], ["bbb", [], 1]);
});

test("update in place: a node that gets an earlier image again is evaluated anew by its gates", async (stage) => {
  const gates = [{ name: "agent", nodeCondition: { type: "Ready" } }];
  const nodes = new FakeNodes({ nodes: 1, policy: { gates, inPlace: soon } });
  await nodes.settle(stage);
  const keys: string[] = [];
  for (const letter of ["b", "c", "b"]) {
    nodes.ask(letter);
    const handle = await nodes.rollOut(stage);
    equal((await handle.result()).outcome, "Converged");
    keys.push(...await gateKeysOf(handle));
  }
  deepEqual([keys.length, new Set(keys).size], [3, 3], keys.join());
});

test("abort: uncordons every node, even a failed one, when the pool does not have a previous image", async (stage) => {
  const gates = [{ name: "agent", nodeCondition: { type: "Ready", status: "False" }, within: "1s" }];
  const nodes = new FakeNodes({ nodes: 2, policy: { maxFailed: 3, gates, inPlace: soon } });
  nodes.ask("b");
  const handle = await nodes.rollOut(stage);
  await eventually("the gate failed", async () => {
    const { underway, failedMachines } = await nodes.progress(stage);
    return failedMachines === 1 && underway.every(({ step }) => step === "Staging");
  });
  equal(nodes.cordoned().length, 1);
  await handle.executeUpdate("abort", { args: [{ by: "somebody" }] });
  deepEqual([(await handle.result()).outcome, nodes.cordoned()], ["Aborted", []]);
});

test("update in place: a node that its pool no longer selects completes its boot, and is uncordoned", async (stage) => {
  const { nodes, handle } = await rolling(stage, { bootMs: 700 });
  await eventually("a node down", () => nodes.down().length === 1);
  const [name = ""] = nodes.down();
  const node = nodes.kube.get("nodes", name);
  nodes.kube.put("nodes", { ...node, metadata: { ...node?.metadata, name, labels: {} } });
  equal((await handle.result()).outcome, "Converged");
  await eventually("it in service", () => !nodes.cordoned().includes(name));
  deepEqual([nodes.booted(), nodes.mostOut], ["bbbb", 1]);
});

test("update in place: a node that reboots by itself before it is ordered to boot does not count as failed, and stages the image again", async (stage) => {
  const nodes = new FakeNodes({ nodes: 1, policy: { inPlace: soon } });
  await nodes.settle(stage);
  const crash = (): void => nodes.comeUp(`${nodes.name}-1`, digestOf("a"));
  nodes.kube.put("pods", {
    metadata: { namespace: "default", name: "web-1" },
    spec: { nodeName: `${nodes.name}-1` },
    status: { phase: "Running" },
  });
  let isOver = false;
  nodes.kube.onRequest = (request) => {
    if (!request.startsWith("evict pods default/web-1") || isOver) return;
    isOver = true;
    crash(); // between the orders Stage and Apply
  };
  nodes.ask("b");
  const { outcome } = await (await nodes.rollOut(stage)).result();
  deepEqual([outcome, nodes.booted(), nodes.given("Apply").length, nodes.given("Stage").length], [
    "Converged",
    "b",
    1,
    2,
  ]);
});

test("H8 update in place: is visible in status and conditions of the Rollout, and in Events about the NodePool", async (stage) => {
  const { nodes, handle } = await rolling(stage, {});
  equal((await handle.result()).outcome, "Converged");
  const rollout = nodes.kube.get("rollouts", nodes.pool.name, "fleet")?.["status"] as {
    phase: string;
    image: string;
    updated: string;
    conditions: { type: string; status: string }[];
  };
  deepEqual([rollout.phase, rollout.image, rollout.updated], ["Converged", imageOf("b"), "4/4"]);
  equal(rollout.conditions.find(({ type }) => type === "Ready")?.status, "True");
  const events = nodes.kube.all("events") as unknown as {
    reason: string;
    involvedObject: { kind: string; name: string };
  }[];
  const own = events.filter(({ involvedObject: { kind, name } }) => kind === "NodePool" && name === nodes.name);
  for (const reason of ["ImageStaged", "BootOrdered", "MachineUpdated"]) {
    equal(own.filter((each) => each.reason === reason).length, 4, reason);
  }
});
