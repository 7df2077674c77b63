/** Nodes that cannot be updated in place are replaced, by the deletion of their machine, if the policy allows it. */
import { deepEqual, equal, match } from "node:assert/strict";
import { eventually } from "../support/eventually.ts";
import { converged, eventsOf, halted, neverReplacing, replacing, rolling } from "../support/replaced_story.ts";
import type { Story } from "../support/replaced_story.ts";
import { onStage } from "../support/workflow_stage.ts";

const test = onStage();

test("ReplaceIfRefused: a node that refuses to stage the image is replaced within the budget after a drain, and the pool converges", async (stage) => {
  const world = await rolling(stage, { refuses: "DiskFull" });
  const { nodes, maker, bad } = world;
  const machine = maker.machineOf(bad);
  await converged(stage, world);
  deepEqual([maker.deleted, maker.podsLeft, nodes.mostOut], [[machine], [], 1]);
  deepEqual(nodes.given("Apply").includes(bad), false);
  match(eventsOf(nodes, "NodeReplaced").join(), new RegExp(`"${bad}".*"${machine}".*StageRefused: DiskFull: as it is`));
});

test("ReplaceIfRefused: a node that waits for its replacement gets one more attempt to stage the image when it gets a slot, and not in a loop", async (stage) => {
  const policy = { ...replacing, inPlace: { boot: "20s" } };
  const world = await rolling(stage, { refuses: "BootSpace", nth: 3, policy, bootMs: 1500 });
  const { nodes, maker, handle, bad } = world;
  const asked = (): number => nodes.given("Stage").filter((node) => node === bad).length;
  await eventually("a refusal while another node has the slot", () => asked() === 1 && nodes.down().length === 1);
  for (let looks = 0; looks < 3; looks++) await handle.signal("desiredChanged", { generation: 2 });
  await eventually("the next one", () => nodes.booted().includes("b") && nodes.down().length === 1);
  deepEqual([asked(), maker.deleted, nodes.cordoned().includes(bad)], [1, [], false]);
  await eventually("it gone", () => maker.gone.length === 1);
  deepEqual([asked(), nodes.booted()], [2, "bba"]);
  await converged(stage, world);
  equal(nodes.mostOut, 1);
});

test("ReplaceIfRefused: a node that accepts the second order to stage the image is updated in place", async (stage) => {
  const world = await rolling(stage, { refuses: "DiskFull" });
  const { nodes, maker, handle, bad } = world;
  nodes.meet = ({ verb, node }) =>
    verb === "Stage" && node === bad && nodes.given("Stage").filter((each) => each === bad).length < 2
      ? { outcome: "Refused", reason: "DiskFull", message: "for now" }
      : undefined;
  equal((await handle.result()).outcome, "Converged");
  deepEqual([nodes.booted(), maker.deleted], ["bbb", []]);
});

for (const reason of ["ImageNotFound", "SignatureInvalid"] as const) {
  test(`ReplaceIfRefused: a node that refuses to stage an image with ${reason} is not replaced, because a new node would refuse too`, async (stage) => {
    const policy = { ...replacing, maxFailed: 1 };
    const { nodes, maker, bad } = await rolling(stage, { refuses: reason, policy });
    const { quarantine } = await halted(stage, nodes);
    match(quarantine[0]?.reason ?? "", new RegExp(`StageRefused: .*${reason}`));
    deepEqual([maker.deleted, nodes.nodes.has(bad), nodes.cordoned()], [[], true, []]);
  });
}

test("ReplaceIfRefused: a Lost node is replaced without a drain, and keeps its slot until the node is deleted", async (stage) => {
  const world = await rolling(stage, { fate: "never comes back", goneMs: 1500 });
  const { nodes, maker, bad, handle } = world;
  await eventually("its deletion", () => maker.gone.length === 1);
  const before = nodes.given("Apply").length;
  const [step] = await eventually("it told", async () => (await nodes.progress(stage)).underway);
  deepEqual([step?.machine, step?.step, nodes.nodes.has(bad)], [bad, "Removing", true]);
  // The deleted node keeps its slot until it is gone, so until then no other node was ordered to boot.
  await eventually("it gone", () => nodes.nodes.size === 3 && !nodes.nodes.has(bad));
  equal(nodes.given("Apply").length, before);
  await converged(stage, { ...world, handle });
  deepEqual([maker.deleted.length, nodes.mostOut], [1, 1]);
});

for (const fate of ["stays up", "comes back without kubelet"] as const) {
  test(`ReplaceIfRefused: replaces a node that ${fate} when it is ordered to boot`, async (stage) => {
    const world = await rolling(stage, { fate });
    await converged(stage, world);
    deepEqual([world.maker.deleted.length, world.nodes.mostOut], [1, 1]);
  });
}

test("ReplaceIfRefused: a node that refuses the order to boot is drained and replaced", async (stage) => {
  const world = await rolling(stage, {});
  const { nodes, maker, bad } = world;
  nodes.meet = ({ verb, node }) =>
    verb === "Apply" && node === bad
      ? { outcome: "Refused", reason: "DriverFailed", message: "no boot entry" }
      : undefined;
  await converged(stage, world);
  deepEqual([maker.podsLeft, maker.deleted.length, nodes.mostOut], [[], 1, 1]);
  match(eventsOf(nodes, "NodeReplaced").join(), /ApplyRefused: DriverFailed: no boot entry/);
});

test("ReplaceIfRefused: a node that rolled back or failed its gates is never replaced, because the image is bad", async (stage) => {
  const policy = { ...replacing, maxFailed: 1 };
  const { nodes, maker } = await rolling(stage, { fate: "rolls back", policy });
  await halted(stage, nodes);
  const gates = [{ name: "agent", nodeCondition: { type: "Ready", status: "False" }, within: "1s" }];
  const gated = await rolling(stage, { policy: { ...policy, gates } });
  await halted(stage, gated.nodes);
  deepEqual([maker.deleted, gated.maker.deleted], [[], []]);
});

for (const onImageChange of [undefined, "Replace", "InPlace"]) {
  for (const bad of [{ refuses: "DiskFull" }, { fate: "never comes back" }, { fate: "stays up" }] as Story[]) {
    const what = bad.refuses ?? bad.fate;
    test(`onImageChange: no node is replaced with ${onImageChange ?? "the default"} after "${what}"`, async (stage) => {
      const policy = { ...neverReplacing, maxFailed: 1, ...(onImageChange ? { onImageChange } : {}) };
      const { nodes, maker, ...world } = await rolling(stage, { ...bad, policy });
      await halted(stage, nodes);
      deepEqual([maker.deleted, nodes.nodes.has(world.bad), maker.machineOf(world.bad)], [[], true, "pool-hash-1-1"]);
    });
  }
}

test("onImageChange: a node that refuses the order to boot is not replaced without ReplaceIfRefused", async (stage) => {
  const { nodes, maker, bad } = await rolling(stage, { policy: { ...neverReplacing, maxFailed: 1 } });
  nodes.meet = ({ verb, node }) =>
    verb === "Apply" && node === bad ? { outcome: "Refused", reason: "DriverFailed", message: "no" } : undefined;
  await halted(stage, nodes);
  deepEqual([maker.deleted, maker.machineOf(bad), nodes.cordoned()], [[], "pool-hash-1-1", []]);
});

test("ReplaceIfRefused: a node without a machine is not replaced, and its pool halts", async (stage) => {
  const policy = { ...replacing, maxFailed: 1 };
  const refused = await rolling(stage, { refuses: "DiskFull", policy, isMade: false });
  match((await halted(stage, refused.nodes)).quarantine[0]?.reason ?? "", /StageRefused: .*DiskFull/);
  const lost = await rolling(stage, { fate: "never comes back", policy, isMade: false });
  match((await halted(stage, lost.nodes)).quarantine[0]?.reason ?? "", /UpdateLost/);
  deepEqual([refused.nodes.cordoned(), lost.nodes.cordoned()], [[], [lost.bad]]);
});
