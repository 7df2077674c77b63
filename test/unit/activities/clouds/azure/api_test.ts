import type { ComputeManagementClient } from "@azure/arm-compute";
import type { ApplicationFailure } from "@temporalio/common";
import { deepEqual, equal, ok, rejects } from "node:assert/strict";
import { AzureApi } from "../../../../../activities/clouds/azure/api.ts";
import { providerIdOf, spec, truthOf, worldOf } from "../../../../support/clouds/azure_world.ts";

const group = spec.id;

for (const code of ["ScopeLocked", "PropertyChangeNotAllowed", "ReadOnlyDisabledSubscription"]) {
  Deno.test(`openAzure: does not retry conflict ${code}`, async () => {
    await using world = worldOf();
    const driver = await world.open();
    world.stub.refusal = (action) => action === "update" ? { status: 409, code } : undefined;
    const refused = { type: "CloudRefused", nonRetryable: true, message: new RegExp(`: ${code}: `) };
    await rejects(driver.order({ group, token: "t" }), refused);
  });
}

for (const code of ["AnotherOperationInProgress", "Conflict"]) {
  Deno.test(`openAzure: retries ${code}, because another operation is in progress`, async () => {
    await using world = worldOf();
    const driver = await world.open();
    world.stub.refusal = (action) => action === "update" ? { status: 409, code } : undefined;
    await rejects(driver.order({ group, token: "t" }), { type: "ApiUnavailable" });
  });
}

Deno.test("openAzure: does not treat throttling as missing capacity", async () => {
  await using world = worldOf();
  const driver = await world.open();
  const message = "the request quota of the subscription is used up";
  world.stub.refusal = (action) =>
    action === "update" ? { status: 429, code: "OperationNotAllowed", message } : undefined;
  await rejects(driver.order({ group, token: "t" }), { type: "ApiUnavailable" });
});

for (const code of ["ResourceGroupNotFound", "SubscriptionNotFound"]) {
  Deno.test(`openAzure: does not treat ${code} as a deleted group or machine`, async () => {
    await using world = worldOf();
    const driver = await world.open();
    world.stub.refusal = () => ({ status: 404, code });
    const refused = { type: "CloudRefused", nonRetryable: true };
    await rejects(driver.group(group), refused);
    await rejects(driver.instance(providerIdOf(1)), refused);
    await rejects(driver.remove({ group, providerId: providerIdOf(1), shrinks: true }), refused);
  });
}

Deno.test("find: does not treat a 404 of a proxy, which has no error code of Azure, as a deleted resource", async () => {
  const answered = (code?: string): Promise<unknown> => {
    const error = Object.assign(new Error("no"), { name: "RestError", statusCode: 404, ...(code ? { code } : {}) });
    const connected = { client: {} as ComputeManagementClient, resourceGroup: "r" };
    return new AzureApi(connected, undefined).find({ attempt: "look", call: () => Promise.reject(error) });
  };
  equal(await answered("ResourceNotFound"), undefined);
  await rejects(answered(), { type: "ApiUnavailable" });
});

for (const state of ["Terminating", "Terminated"] as const) {
  Deno.test(`K7 openAzure: treats a ${state} machine as deleted when Azure refuses to delete it`, async () => {
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

Deno.test("K7 openAzure: reports that Azure refuses to delete a running machine", async () => {
  await using world = worldOf();
  const driver = await world.open();
  world.stub.refusal = (action) => action === "delete" ? { status: 400, code: "InvalidParameter" } : undefined;
  const removed = driver.remove({ group, providerId: providerIdOf(1), shrinks: true });
  await rejects(removed, { type: "CloudRefused", message: /^Failed to remove instance 1 .*: InvalidParameter: / });
});

Deno.test("openAzure: waits as long as Retry-After asks, at most a minute", async () => {
  for (const [after, nextRetryDelay] of [["7", 7_000], ["3600", 60_000], ["soon", undefined]] as const) {
    await using world = worldOf();
    const driver = await world.open();
    world.stub.refusal = () => ({ status: 429, code: "TooManyRequests", after });
    const failure = await driver.group(group).catch((error: unknown) => error);
    const { type, nonRetryable, nextRetryDelay: delay } = failure as ApplicationFailure;
    deepEqual([type, nonRetryable, delay ?? undefined], ["ApiUnavailable", false, nextRetryDelay]);
  }
});

const passing = [
  "Operation is not allowed because another operation is in progress",
  "The virtual machine scale set is being updated",
  "VM 'a_1' is marked for deletion. You can only retry the Delete operation (or wait for an ongoing one to complete)",
];

for (const message of passing) {
  Deno.test(`fault G6: openAzure retries OperationNotAllowed that passes by itself: ${message.slice(0, 30)}`, async () => {
    await using world = worldOf();
    const driver = await world.open();
    world.stub.refusal = (action) =>
      action === "update" ? { status: 409, code: "OperationNotAllowed", message } : undefined;
    await rejects(driver.order({ group, token: "t" }), { type: "ApiUnavailable" });
  });
}

const lasting = [
  "The maximum number of instances of a scale set with singlePlacementGroup is 100",
  "Changing property 'networkProfile' is not allowed",
];

for (const message of lasting) {
  Deno.test(`fault G6: openAzure does not retry OperationNotAllowed that stays: ${message.slice(0, 30)}`, async () => {
    await using world = worldOf();
    const driver = await world.open();
    world.stub.refusal = (action) =>
      action === "update" ? { status: 409, code: "OperationNotAllowed", message } : undefined;
    const refused = { type: "CloudRefused", nonRetryable: true, message: /: OperationNotAllowed: / };
    await rejects(driver.order({ group, token: "t" }), refused);
  });
}

Deno.test("fault G6: openAzure applies its time limit to each request, and not to all pages of a list together", async () => {
  await using world = worldOf({ groups: [{ ...spec, size: 12, max: 20 }], requestMs: 600 });
  const driver = await world.open();
  await driver.group(group);
  world.stub.delay = (_, action) => action === "vms" ? 150 : 0;
  equal((await driver.instances(group)).length, 12);
});

Deno.test("fault G6: openAzure applies its time limit to the request of every page, also after the first", async () => {
  await using world = worldOf({ groups: [{ ...spec, size: 12, max: 20 }], requestMs: 300 });
  const driver = await world.open();
  await driver.group(group);
  world.stub.delay = (nth) => world.stub.calls[nth - 2] === "vms" ? 3_000 : 0;
  const from = Date.now();
  await rejects(driver.instances(group), { type: "ApiUnavailable" });
  ok(Date.now() - from < 2_500);
});
