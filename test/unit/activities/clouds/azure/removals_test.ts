import { deepEqual, equal, rejects } from "node:assert/strict";
import { providerIdOf, settle, spec, truthOf, worldOf } from "../../../../support/clouds/azure_world.ts";
import type { Befalls } from "../../../../support/driver_conformance.ts";

const group = spec.id;
const befalls: Befalls[] = ["CutBefore", "CutAfter", "Throttled", "Broken"];

for (const fault of befalls) {
  Deno.test(`K22 openAzure: replaces a removed machine and never shrinks, with ${fault} at every call`, async () => {
    await using world = worldOf();
    const { stub } = world;
    const driver = await world.open();
    const removal = { group, providerId: providerIdOf(1), shrinks: false };
    for (let nth = 0, isBefallen = true; isBefallen; nth++) {
      const first = stub.calls.length;
      stub.fault = (at) => at === first + nth + 1 ? fault : undefined;
      await driver.remove(removal).catch((error: { type?: string }) => equal(error.type, "ApiUnavailable"));
      isBefallen = stub.calls.length - first > nth;
    }
    stub.fault = () => undefined;
    const { size, alive } = truthOf(world);
    deepEqual([size, alive, world.cloud.instances().length], [2, 2, 3]);
    settle(world.cloud);
    equal(await driver.remove(removal), "Gone");
    deepEqual([truthOf(world).size, world.cloud.instances().length], [2, 3]);
  });
}

Deno.test("K7 openAzure: replaces a machine that was deleted before the replacement was complete", async () => {
  await using world = worldOf();
  const driver = await world.open();
  const removal = { group, providerId: providerIdOf(1), shrinks: false };
  world.stub.fault = (_, action) => action === "delete" ? "CutAfter" : undefined;
  await rejects(driver.remove(removal), { type: "ApiUnavailable" });
  settle(world.cloud);
  world.stub.fault = () => undefined;
  for (let nth = 0; nth < 2; nth++) equal(await driver.remove(removal), "Gone");
  deepEqual([truthOf(world).size, truthOf(world).alive], [2, 2]);
});

Deno.test("K10 openAzure: replaces a removed machine when there is capacity again", async () => {
  await using world = worldOf({ capacity: 2 });
  const driver = await world.open();
  const removal = { group, providerId: providerIdOf(1), shrinks: false };
  await rejects(driver.remove(removal), { type: "ApiUnavailable", message: /Failed to restore the size/ });
  settle(world.cloud);
  equal(await driver.remove(removal), "Gone");
  deepEqual([truthOf(world).size, truthOf(world).alive], [2, 2]);
});

Deno.test("openAzure: does not replace a machine when an interrupted removal is repeated as one that shrinks the scale set", async () => {
  await using world = worldOf();
  const driver = await world.open();
  const removal = { group, providerId: providerIdOf(1) };
  world.stub.fault = (_, action) => action === "update" ? "CutAfter" : undefined;
  await rejects(driver.remove({ ...removal, shrinks: false }), { type: "ApiUnavailable" });
  world.stub.fault = () => undefined;
  equal(await driver.remove({ ...removal, shrinks: true }), "Going");
  deepEqual([truthOf(world).size, truthOf(world).alive], [1, 1]);
});

Deno.test("K7 openAzure: deletes a machine once although Azure confirms the deletion late, and then replaces the machine", async () => {
  await using world = worldOf({ workMs: 0, lateMs: 700 });
  const driver = await world.open();
  const raised: number[] = [];
  world.stub.fault = (_, action) => {
    if (action === "update") raised.push(truthOf(world).alive);
    return undefined;
  };
  equal(await driver.remove({ group, providerId: providerIdOf(1), shrinks: false }), "Going");
  // One update records the removal while both instances exist, and one raises the size after the deletion.
  deepEqual([raised, world.stub.calls.filter((call) => call === "delete").length], [[2, 1], 1]);
  deepEqual([truthOf(world).size, truthOf(world).alive], [2, 2]);
});

Deno.test("K7 openAzure: does not wait for the deletion of a machine when the removal shrinks the scale set", async () => {
  await using world = worldOf({ lateMs: 60_000 });
  const driver = await world.open();
  equal(await driver.remove({ group, providerId: providerIdOf(1), shrinks: true }), "Going");
  deepEqual([world.stub.calls, truthOf(world).size], [["get", "vm", "delete"], 1]);
});

Deno.test("fault G14: openAzure replaces a machine whose deletion takes long, once Azure accepts another change of the scale set", async () => {
  await using world = worldOf({ patienceMs: 300 });
  const driver = await world.open();
  const removal = { group, providerId: providerIdOf(1), shrinks: false };
  world.stub.fault = (_, action) => {
    world.stub.ground.conditions.workMs = action === "delete" ? 3_600_000 : 20;
    return undefined;
  };
  for (let nth = 0; nth < 2; nth++) {
    await rejects(driver.remove(removal), { type: "ApiUnavailable", message: /concurrent request/ });
  }
  deepEqual([truthOf(world).size, truthOf(world).alive], [1, 1]);
  world.stub.ground.finish();
  equal(await driver.remove(removal), "Going");
  deepEqual([truthOf(world).size, truthOf(world).alive], [2, 2]);
});

Deno.test("K7 openAzure: removes nothing from another set", async () => {
  const other = { ...spec, id: spec.id.replace("Workers-vmss", "other"), name: "other" };
  await using world = worldOf({ groups: [spec, other] });
  const driver = await world.open();
  const [{ providerId } = { providerId: "" }] = await driver.instances(other.id);
  await rejects(driver.remove({ group, providerId, shrinks: true }), { type: "CloudRefused" });
  equal(world.cloud.group(other.id)?.size, 2);
});

Deno.test("fault G6: openAzure records the instance of the latest order before it removes the instance, so that a repeated order launches no other instance", async () => {
  await using world = worldOf();
  const driver = await world.open();
  await driver.order({ group, token: "t" });
  await driver.remove({ group, providerId: providerIdOf(3), shrinks: true });
  settle(world.cloud);
  const again = await driver.order({ group, token: "t" });
  deepEqual([again.outcome, truthOf(world).size, world.cloud.instances().length], ["Ordered", 2, 3]);
});
