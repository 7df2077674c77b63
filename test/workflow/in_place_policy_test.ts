/** The field `inPlace` of a policy. */
import { deepEqual, equal, match, ok } from "node:assert/strict";
import type { OsOrder, OsOutcome } from "../../workflows/contracts/mod.ts";
import { eventually } from "../support/eventually.ts";
import { FakeNodes } from "../support/fake_nodes.ts";
import { onStage } from "../support/workflow_stage.ts";

const test = onStage();

test("inPlace.stageAtOnce: limits how many nodes fetch an image concurrently", async (stage) => {
  const nodes = new FakeNodes({ nodes: 5, policy: { inPlace: { stageAtOnce: 2 } } });
  await nodes.settle(stage);
  let [now, most] = [0, 0];
  const giveOrder = nodes.giveOrder.bind(nodes);
  nodes.giveOrder = async (order: OsOrder): Promise<OsOutcome> => {
    if (order.verb !== "Stage") return await giveOrder(order);
    most = Math.max(most, ++now);
    await new Promise((done) => setTimeout(done, 100));
    now -= 1;
    return await giveOrder(order);
  };
  nodes.ask("b");
  equal((await (await nodes.rollOut(stage)).result()).outcome, "Converged");
  deepEqual([nodes.booted(), most], ["bbbbb", 2]);
});

test("inPlace.stage: is the deadline of a download", async (stage) => {
  const nodes = new FakeNodes({ nodes: 1, policy: { inPlace: { stage: "7m" } } });
  await nodes.settle(stage);
  const given: number[] = [];
  nodes.meet = ({ verb, until }) => void (verb === "Stage" && given.push(until - Date.now()));
  nodes.ask("b");
  await nodes.settle(stage);
  ok(given.every((ms) => ms > 360_000 && ms <= 420_000), String(given));
  equal(given.length, 1);
});

test("inPlace.boot: limits how long a node may take to return from its reboot", async (stage) => {
  const nodes = new FakeNodes({ nodes: 2, policy: { inPlace: { boot: "1s" } }, fate: () => "never comes back" });
  await nodes.settle(stage);
  nodes.ask("b");
  await nodes.rollOut(stage);
  const quarantine = await eventually("it given up", async () => {
    const progress = await nodes.progress(stage);
    return progress.quarantine.length > 0 && progress.quarantine;
  });
  match(quarantine[0]?.reason ?? "", /UpdateLost/);
});

test("inPlace.soak: sets how long a rebooted node is watched before it is uncordoned", async (stage) => {
  const nodes = new FakeNodes({ nodes: 2, policy: { inPlace: { soak: "2s" } } });
  await nodes.settle(stage);
  nodes.ask("b");
  const handle = await nodes.rollOut(stage);
  const soaking = await eventually("a soak", async () => {
    const { underway } = await nodes.progress(stage);
    return underway.find(({ step }) => step === "Soaking");
  });
  deepEqual([nodes.cordoned(), nodes.booted()], [[soaking.machine], soaking.machine.endsWith("-1") ? "ba" : "ab"]);
  equal((await handle.result()).outcome, "Converged");
  deepEqual([nodes.cordoned(), nodes.booted()], [[], "bb"]);
});
