import { deepEqual, equal, match, ok, rejects } from "node:assert/strict";
import type { Ordered } from "../../../../../activities/clouds/driver.ts";
import {
  age,
  cutOff,
  providerIdOf,
  settle,
  spec,
  tagsOf,
  truthOf,
  type World,
  worldOf,
} from "../../../../support/clouds/azure_world.ts";

const group = spec.id;

function idIn(ordered: Ordered): string {
  ok(ordered.outcome === "Ordered");
  return ordered.instance.providerId;
}

Deno.test("fault G6: openAzure updates a set only once for each order; the same update records the instance of the previous order", async () => {
  await using world = worldOf({ workMs: 0 });
  const driver = await world.open();
  equal(idIn(await driver.order({ group, token: "workers-new-1" })), providerIdOf(3));
  deepEqual(world.stub.calls, ["get", "vms", "update", "get", "vms", "vms"]);
  const { "ostler-orders-1": before, "ostler-open-order": first = "", ...others } = tagsOf(world);
  match(first, /^2 \d+ workers-new-1$/);
  deepEqual([before, others["constellation-uid"]], [undefined, "cluster-1"]);
  equal(idIn(await driver.order({ group, token: "workers-new-2" })), providerIdOf(4));
  const { "ostler-orders-1": orders, "ostler-open-order": second = "" } = tagsOf(world);
  match(second, /^3 \d+ workers-new-2$/);
  equal(orders, "workers-new-:1@3");
  equal(world.stub.calls.filter((call) => call === "update").length, 2);
  deepEqual((await driver.instances(group)).map(({ token }) => token), [
    ...[undefined, undefined, "workers-new-1", "workers-new-2"],
  ]);
});

Deno.test("K16 openAzure: lists the instance of an open order with the token of the order, even before the instance is recorded", async () => {
  await using world = worldOf();
  const driver = await world.open();
  await cutOff(world, driver);
  equal(tagsOf(world)["ostler-orders-1"], undefined);
  deepEqual((await driver.instances(group)).map(({ token }) => token), [undefined, undefined, "t"]);
  equal((await driver.instance(providerIdOf(3)))?.token, "t");
  equal((await driver.instance(providerIdOf(2)))?.token, undefined);
});

const meddlings: { title: string; meddle: (world: World) => void; left: { size: number; alive: number } }[] = [
  {
    title: "another client orders an instance",
    meddle: ({ cloud }) => void cloud.order(cloud.group(group)!, "somebody"),
    left: { size: 4, alive: 4 },
  },
  {
    title: "another client removes an old instance",
    meddle: ({ stub, cloud }) => stub.ground.delete(cloud.group(group)!, "1"),
    left: { size: 2, alive: 2 },
  },
  {
    title: "another client removes an old instance and orders a new one",
    meddle: ({ stub, cloud }) => {
      stub.ground.delete(cloud.group(group)!, "1");
      cloud.order(cloud.group(group)!, "somebody");
    },
    left: { size: 3, alive: 3 },
  },
];

for (const { title, meddle, left } of meddlings) {
  Deno.test(`K16 openAzure: neither loses nor doubles an interrupted order when ${title}`, async () => {
    await using world = worldOf();
    const driver = await world.open();
    await cutOff(world, driver);
    meddle(world);
    equal(idIn(await driver.order({ group, token: "t" })), providerIdOf(3));
    equal(idIn(await driver.order({ group, token: "t" })), providerIdOf(3));
    const { size, alive, tokens } = truthOf(world);
    deepEqual({ size, alive, tokens }, { ...left, tokens: ["t"] });
  });
}

Deno.test("K16 openAzure: returns the instance of an order even after the instance was deleted, and no other instance", async () => {
  await using world = worldOf();
  const driver = await world.open();
  await cutOff(world, driver);
  world.stub.ground.delete(world.cloud.group(group)!, "3");
  const ordered = await driver.order({ group, token: "t" });
  ok(ordered.outcome === "Ordered");
  deepEqual([ordered.instance.providerId, ordered.instance.state], [providerIdOf(3), "Terminating"]);
  settle(world.cloud);
  equal(idIn(await driver.order({ group, token: "t" })), providerIdOf(3));
  equal(truthOf(world).size, 2);
});

Deno.test("K16 openAzure: orders again when Azure has not listed the instance of an order in time, and the set has as many instances as its size", async () => {
  await using world = worldOf();
  const driver = await world.open();
  await cutOff(world, driver);
  // Another client deletes the instance of the open order before Azure has listed it.
  world.stub.ground.delete(world.cloud.group(group)!, "3");
  settle(world.cloud);
  await rejects(driver.order({ group, token: "u" }), {
    type: "ApiUnavailable",
    message: /"t" does not have an instance yet/,
  });
  equal(truthOf(world).size, 2);
  age(world);
  equal(idIn(await driver.order({ group, token: "t" })), providerIdOf(4));
  const { size, alive, tokens } = truthOf(world);
  deepEqual({ size, alive, tokens }, { size: 3, alive: 3, tokens: ["t"] });
});

Deno.test("K16 openAzure: places no second order while Azure lists no instance of the first, and never raises the size twice", async () => {
  await using world = worldOf({ lagMs: 60_000 });
  const driver = await world.open();
  await cutOff(world, driver);
  const refusal = { type: "ApiUnavailable", message: /order "t" does not have an instance yet$/ };
  const first = world.stub.calls.length;
  await rejects(driver.order({ group, token: "u" }), refusal);
  // An order with another token fails at once, without waiting for the instance of order "t".
  deepEqual(world.stub.calls.slice(first), ["get", "vms"]);
  // Order "t" stays open at any age while the size of the set exceeds the number of its instances.
  age(world);
  await rejects(driver.order({ group, token: "u" }), {
    type: "ApiUnavailable",
    message: /fewer instances than its size$/,
  });
  deepEqual([truthOf(world).size, truthOf(world).alive], [3, 3]);
});

Deno.test("K8 openAzure: ends an abandoned open order, and places the next order", async () => {
  await using world = worldOf();
  const driver = await world.open();
  await cutOff(world, driver);
  equal(idIn(await driver.order({ group, token: "u" })), providerIdOf(4));
  equal(idIn(await driver.order({ group, token: "t" })), providerIdOf(3));
  deepEqual([truthOf(world).size, truthOf(world).tokens], [4, ["t", "u"]]);
});

Deno.test("K8 openAzure: raises the size of a set once for a token that three processes order at the same time", async () => {
  await using world = worldOf();
  const drivers = await Promise.all([1, 2, 3].map(() => world.open()));
  const tries = await Promise.allSettled(drivers.map((driver) => driver.order({ group, token: "t" })));
  for (const each of tries) if (each.status === "rejected") equal(each.reason.type, "ApiUnavailable");
  const made = await Promise.all(drivers.map((driver) => driver.order({ group, token: "t" })));
  deepEqual(made.map(idIn), [1, 2, 3].map(() => providerIdOf(3)));
  deepEqual([truthOf(world).size, truthOf(world).alive], [3, 3]);
});

Deno.test("K10 openAzure: lowers the size when Azure reports missing capacity only after it has accepted the larger size", async () => {
  await using world = worldOf({ capacity: 2, lack: "Later" });
  const driver = await world.open();
  await cutOff(world, driver);
  equal(truthOf(world).size, 3);
  age(world);
  const answer = await driver.order({ group, token: "t" });
  deepEqual(answer, { outcome: "NoCapacity", says: "AllocationFailed: there is no room" });
  deepEqual([truthOf(world).size, truthOf(world).alive, "ostler-open-order" in tagsOf(world)], [2, 2, false]);
});

Deno.test("K10 openAzure: reports missing capacity when Azure has lowered the size itself", async () => {
  await using world = worldOf({ capacity: 2, lack: "Later" });
  const driver = await world.open();
  await cutOff(world, driver);
  world.cloud.group(group)!.size = 2;
  age(world);
  equal((await driver.order({ group, token: "t" })).outcome, "NoCapacity");
  deepEqual([truthOf(world).size, truthOf(world).alive, "ostler-open-order" in tagsOf(world)], [2, 2, false]);
});

Deno.test("K10 openAzure: removes an instance that failed for lack of capacity", async () => {
  await using world = worldOf();
  const driver = await world.open();
  await cutOff(world, driver);
  const made = world.cloud.instances().at(-1);
  world.cloud.set(made?.providerId ?? "", { state: "Failed", trouble: "no room" });
  const answer = await driver.order({ group, token: "t" });
  deepEqual(answer, { outcome: "NoCapacity", says: "AllocationFailed: instance 3 failed" });
  deepEqual([truthOf(world).size, truthOf(world).alive, "ostler-open-order" in tagsOf(world)], [2, 2, false]);
});

Deno.test("fault G14: openAzure reports missing capacity when the deletion of the failed instance takes long", async () => {
  await using world = worldOf({ patienceMs: 300 });
  const driver = await world.open();
  await cutOff(world, driver);
  world.cloud.set(world.cloud.instances().at(-1)?.providerId ?? "", { state: "Failed", trouble: "no room" });
  world.stub.fault = (_, action) => {
    world.stub.ground.conditions.workMs = action === "delete" ? 3_600_000 : 0;
    return undefined;
  };
  for (let nth = 0; nth < 2; nth++) {
    await rejects(driver.order({ group, token: "t" }), { type: "ApiUnavailable", message: /concurrent request/ });
  }
  equal(world.stub.calls.filter((call) => call === "delete").length, 1);
  world.stub.ground.finish();
  settle(world.cloud);
  const answer = await driver.order({ group, token: "t" });
  deepEqual(answer, { outcome: "NoCapacity", says: "AllocationFailed: instance 3 failed" });
  deepEqual([truthOf(world).size, truthOf(world).alive, "ostler-open-order" in tagsOf(world)], [2, 2, false]);
});

Deno.test("fault G14: openAzure deletes a failed instance once when Azure reports its deletion late", async () => {
  await using world = worldOf({ workMs: 0, lateMs: 3_600_000 });
  const driver = await world.open();
  await cutOff(world, driver);
  world.cloud.set(world.cloud.instances().at(-1)?.providerId ?? "", { state: "Failed", trouble: "no room" });
  equal((await driver.order({ group, token: "t" })).outcome, "NoCapacity");
  equal(world.stub.calls.filter((call) => call === "delete").length, 1);
  deepEqual([truthOf(world).size, truthOf(world).alive], [2, 2]);
});

Deno.test("fault G14: openAzure places the next order once Azure has completed the previous one", async () => {
  await using world = worldOf({ workMs: 300, lagMs: 0 });
  const driver = await world.open();
  equal(idIn(await driver.order({ group, token: "a" })), providerIdOf(3));
  equal(world.stub.ground.isBusy(world.cloud.group(group)!), true);
  equal(idIn(await driver.order({ group, token: "b" })), providerIdOf(4));
  deepEqual([truthOf(world).size, truthOf(world).tokens], [4, ["a", "b"]]);
});

Deno.test("fault G14: openAzure fails with ApiUnavailable, and orders nothing, while another change of the scale set lasts", async () => {
  await using world = worldOf({ workMs: 3_600_000, lagMs: 0, patienceMs: 300 });
  const driver = await world.open();
  await driver.order({ group, token: "a" });
  await rejects(driver.order({ group, token: "b" }), { type: "ApiUnavailable", message: /concurrent request/ });
  deepEqual([truthOf(world).size, truthOf(world).tokens], [3, ["a"]]);
});

Deno.test("fault G6: openAzure does not remove the failed instance of another order, whose caller removes it", async () => {
  await using world = worldOf();
  const driver = await world.open();
  equal(idIn(await driver.order({ group, token: "t" })), providerIdOf(3));
  world.cloud.set(world.cloud.instances().at(-1)?.providerId ?? "", { state: "Failed", trouble: "no room" });
  equal(idIn(await driver.order({ group, token: "u" })), providerIdOf(4));
  deepEqual([truthOf(world).size, truthOf(world).tokens], [4, ["t", "u"]]);
  // The caller of order "t" removes its failed instance, and lowers the size of the scale set by one.
  equal(await driver.remove({ group, providerId: providerIdOf(3), shrinks: true }), "Going");
  deepEqual([truthOf(world).size, truthOf(world).alive], [3, 3]);
});

Deno.test("K10 openAzure: does not change an order that another process opened in the meantime", async () => {
  await using world = worldOf();
  const driver = await world.open();
  await cutOff(world, driver);
  world.cloud.set(world.cloud.instances().at(-1)?.providerId ?? "", { state: "Failed", trouble: "no room" });
  world.stub.fault = (nth, action) => {
    const theirs = { ...tagsOf(world), "ostler-open-order": "3 1795000000 u" };
    if (action === "get" && world.stub.calls[nth - 2] === "delete") {
      world.stub.ground.setTags(world.cloud.group(group)!, theirs);
    }
    return undefined;
  };
  equal((await driver.order({ group, token: "t" })).outcome, "NoCapacity");
  equal(tagsOf(world)["ostler-open-order"], "3 1795000000 u");
});

Deno.test("K10 openAzure: reports an exceeded quota at once", async () => {
  await using world = worldOf({ capacity: 2 });
  const answer = await (await world.open()).order({ group, token: "t" });
  ok(answer.outcome === "NoCapacity");
  match(answer.says, /^OperationNotAllowed: exceeds Quota/);
});

Deno.test("K21 openAzure: places the orders of a set one after another, also if its name is written in another case", async () => {
  await using world = worldOf();
  const driver = await world.open();
  const made = await Promise.all([
    driver.order({ group, token: "a" }),
    driver.order({ group: group.toUpperCase(), token: "b" }),
  ]);
  deepEqual(made.map(idIn), [providerIdOf(3), providerIdOf(4)]);
});

Deno.test("K8 openAzure: binds an instance to one order only, even if a list of instances left that instance out", async () => {
  await using world = worldOf();
  const driver = await world.open();
  equal(idIn(await driver.order({ group, token: "a" })), providerIdOf(3));
  await driver.remove({ group, providerId: providerIdOf(1), shrinks: true });
  world.stub.fault = (nth, action) => {
    // The list lacks an instance, because the set changes between its first and its second page.
    if (action === "vms" && world.stub.calls[nth - 2] === "vms") settle(world.cloud);
    return undefined;
  };
  await rejects(driver.order({ group, token: "b" }), { type: "ApiUnavailable" });
  equal(idIn(await driver.order({ group, token: "b" })), providerIdOf(4));
  deepEqual([truthOf(world).size, truthOf(world).tokens], [3, ["a", "b"]]);
});

Deno.test("K8 openAzure: forgets the oldest orders of deleted instances", async () => {
  await using world = worldOf({ workMs: 0 });
  const driver = await world.open();
  for (let nth = 0; nth < 32; nth++) {
    equal(idIn(await driver.order({ group, token: `workers-new-${nth}` })), providerIdOf(3 + nth));
    await driver.remove({ group, providerId: providerIdOf(3 + nth), shrinks: true });
    settle(world.cloud);
  }
  // Only the latest orders are kept, so that a repeated order of one of them gets no second instance.
  const { tokens } = truthOf(world);
  deepEqual([tokens.length, tokens[0], tokens.at(-1)], [31, "workers-new-1", "workers-new-31"]);
  equal(idIn(await driver.order({ group, token: "workers-new-1" })), providerIdOf(4));
  equal(truthOf(world).size, 2);
});

Deno.test("openAzure: stops when its signal is aborted during the wait for an instance", async () => {
  await using world = worldOf({ lagMs: 60_000 });
  const ended = new AbortController();
  const driver = await world.open(ended.signal);
  const ordered = driver.order({ group, token: "t" });
  setTimeout(() => ended.abort(new Error("it ends")), 100);
  await rejects(ordered, { message: "it ends" });
});
