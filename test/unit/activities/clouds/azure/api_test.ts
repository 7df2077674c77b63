import type { ApplicationFailure } from "@temporalio/common";
import { deepEqual, equal, rejects } from "node:assert/strict";
import { providerIdOf, spec, truthOf, worldOf } from "../../../../support/clouds/azure_world.ts";

const group = spec.id;

for (const code of ["ScopeLocked", "PropertyChangeNotAllowed", "ReadOnlyDisabledSubscription"]) {
  Deno.test(`openAzure is refused by ${code}, a conflict that no waiting ends`, async () => {
    await using world = worldOf();
    const driver = await world.open();
    world.stub.refusal = (action) => action === "update" ? { status: 409, code } : undefined;
    const refused = { type: "CloudRefused", nonRetryable: true, message: new RegExp(`: ${code}: `) };
    await rejects(driver.order({ group, token: "t" }), refused);
  });
}

for (const code of ["OperationNotAllowed", "AnotherOperationInProgress", "Conflict"]) {
  Deno.test(`openAzure waits for ${code}, as somebody else is at it`, async () => {
    await using world = worldOf();
    const driver = await world.open();
    world.stub.refusal = (action) => action === "update" ? { status: 409, code } : undefined;
    await rejects(driver.order({ group, token: "t" }), { type: "ApiUnavailable" });
  });
}

Deno.test("openAzure takes no limit of requests for a lack of room", async () => {
  await using world = worldOf();
  const driver = await world.open();
  const message = "the request quota of the subscription is used up";
  world.stub.refusal = (action) =>
    action === "update" ? { status: 429, code: "OperationNotAllowed", message } : undefined;
  await rejects(driver.order({ group, token: "t" }), { type: "ApiUnavailable" });
});

for (const code of ["ResourceGroupNotFound", "SubscriptionNotFound"]) {
  Deno.test(`openAzure takes no group or machine for gone by ${code}`, async () => {
    await using world = worldOf();
    const driver = await world.open();
    world.stub.refusal = () => ({ status: 404, code });
    const refused = { type: "CloudRefused", nonRetryable: true };
    await rejects(driver.group(group), refused);
    await rejects(driver.instance(providerIdOf(1)), refused);
    await rejects(driver.remove({ group, providerId: providerIdOf(1), shrinks: true }), refused);
  });
}

for (const state of ["Terminating", "Terminated"] as const) {
  Deno.test(`K7 openAzure takes a machine that is ${state} when Azure refuses to delete it for no failure`, async () => {
    await using world = worldOf();
    const driver = await world.open();
    world.stub.refusal = (action) => {
      if (action !== "delete") return undefined;
      world.cloud.set(world.cloud.instances()[0]?.providerId ?? "", { state });
      return { status: 400, code: "InvalidParameter" };
    };
    equal(await driver.remove({ group, providerId: providerIdOf(1), shrinks: true }), "Going");
    deepEqual(truthOf(world).size, 2);
  });
}

Deno.test("K7 openAzure tells that Azure refuses to delete a machine that stays", async () => {
  await using world = worldOf();
  const driver = await world.open();
  world.stub.refusal = (action) => action === "delete" ? { status: 400, code: "InvalidParameter" } : undefined;
  const removed = driver.remove({ group, providerId: providerIdOf(1), shrinks: true });
  await rejects(removed, { type: "CloudRefused", message: /^Failed to remove instance 1 .*: InvalidParameter: / });
});

Deno.test("openAzure is asked again only after it was left alone for as long as it said, a minute at the most", async () => {
  for (const [after, nextRetryDelay] of [["7", 7_000], ["3600", 60_000], ["soon", undefined]] as const) {
    await using world = worldOf();
    const driver = await world.open();
    world.stub.refusal = () => ({ status: 429, code: "TooManyRequests", after });
    const failure = await driver.group(group).catch((error: unknown) => error);
    const { type, nonRetryable, nextRetryDelay: delay } = failure as ApplicationFailure;
    deepEqual([type, nonRetryable, delay ?? undefined], ["ApiUnavailable", false, nextRetryDelay]);
  }
});
