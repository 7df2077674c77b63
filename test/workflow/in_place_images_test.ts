/** A NodePool that names an OSImage is updated only to the digest that was accepted for the OSImage. */
import { deepEqual, equal, match } from "node:assert/strict";
import { eventually } from "../support/eventually.ts";
import { digestOf, FakeNodes } from "../support/fake_nodes.ts";
import { onStage, signalChange } from "../support/workflow_stage.ts";

const test = onStage();

test("A15 OSImage: a refused image is not rolled out, and the Rollout has the reason", async (stage) => {
  const nodes = new FakeNodes({ nodes: 2 });
  nodes.askForOSImage("edge");
  nodes.judge("edge", { reason: "SignatureMissing" });
  const handle = await nodes.rollOut(stage);
  const { message } = await eventually("a halt", async () => {
    const progress = await nodes.progress(stage);
    return progress.phase === "Halted" && progress.reason === "ImageNotAccepted" && progress;
  });
  match(message, /OSImage "edge" is refused: no signature by one of its keys/);
  deepEqual([nodes.orders, nodes.mostOut], [[], 0]);
  nodes.judge("edge", { letter: "b" });
  await signalChange(handle, 1);
  equal((await handle.result()).outcome, "Converged");
  equal(nodes.booted(), "bb");
});

test("A2 H6 OSImage: a new digest behind an unchanged tag is rolled out", async (stage) => {
  const nodes = new FakeNodes({ nodes: 2 });
  nodes.askForOSImage("edge");
  nodes.judge("edge", { letter: "b" });
  await nodes.settle(stage);
  equal(nodes.booted(), "bb");
  nodes.judge("edge", { letter: "c" });
  await nodes.settle(stage);
  equal(nodes.booted(), "cc");
});

test("OSImage: an image that is not accepted any more stops the pool: nodes in progress finish, and no other begins", async (stage) => {
  const nodes = new FakeNodes({ nodes: 4, fate: () => "never comes back" });
  nodes.askForOSImage("edge");
  nodes.judge("edge", { letter: "b" });
  const handle = await nodes.rollOut(stage);
  await eventually("a node down", () => nodes.down().length === 1);
  nodes.judge("edge", { reason: "TooOld" });
  await handle.signal("desiredChanged", { generation: 1 });
  for (const name of nodes.down()) nodes.comeUp(name, digestOf("b"));
  await eventually("a halt", async () => (await nodes.progress(stage)).reason === "ImageNotAccepted");
  await eventually("the node in service", () => nodes.down().length + nodes.cordoned().length === 0);
  deepEqual([nodes.given("Apply").length, nodes.booted().match(/b/g)?.length], [1, 1]);
});
