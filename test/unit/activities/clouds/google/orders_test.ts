import { deepEqual, equal, match, ok, rejects } from "node:assert/strict";
import { open, regional, spec } from "../../../../support/clouds/google_world.ts";

Deno.test("K8 openGoogle: derives the token of an instance from its name alone, and gives instances of different groups different names for the same token", async () => {
  await using world = open({ groups: [spec, regional] });
  const driver = await world.driver;
  for (const { id: group } of [spec, regional]) await driver.order({ group, token: "workers-new-1" });
  const seen = await Promise.all([spec, regional].map(({ id }) => driver.instances(id)));
  const ordered = seen.map((all) => all.at(-1));
  deepEqual(ordered.map((each) => each?.token), ["workers-new-1", "workers-new-1"]);
  ok(ordered[0]?.node !== ordered[1]?.node);
  match(ordered[0]?.node ?? "", /^workers-new-1-[0-9a-f]{8}$/);
  deepEqual(seen.map((all) => all.slice(0, -1).flatMap(({ token }) => token ?? [])), [[], []]);
});

for (const token of ["a.b", "A", "1-a", "a".repeat(55)]) {
  Deno.test(`openGoogle: refuses a token that is not a name: ${token.slice(0, 9)}`, async () => {
    await using world = open();
    await rejects((await world.driver).order({ group: spec.id, token }), {
      type: "CloudRefused",
      message: /expected at most 54 characters of a-z, 0-9 and "-", a letter first$/,
    });
    equal(world.cloud.group(spec.id)?.size, 2);
  });
}

Deno.test("K10 openGoogle: waits until an instance is created, because only then its capacity is certain", async () => {
  await using world = open({ unmadeLooks: 2 });
  const answer = await (await world.driver).order({ group: spec.id, token: "t" });
  ok(answer.outcome === "Ordered");
  deepEqual([answer.instance.addresses.length, world.cloud.group(spec.id)?.size], [1, 3]);
});

for (const fault of ["CutBefore", "CutAfter"] as const) {
  Deno.test(`K10 openGoogle: lowers the size again when there is no capacity for the new instance, also after ${fault}`, async () => {
    await using world = open({ capacity: 2 });
    const driver = await world.driver;
    world.stub.fault = (_, action) => action === "POST delete" ? fault : undefined;
    await rejects(driver.order({ group: spec.id, token: "t" }), { type: "ApiUnavailable" });
    world.stub.fault = () => undefined;
    const answer = await driver.order({ group: spec.id, token: "t" });
    ok(answer.outcome === "NoCapacity");
    match(answer.says, /^ZONE_RESOURCE_POOL_EXHAUSTED: zone 'europe-west1-b' has not enough/);
    deepEqual([world.cloud.group(spec.id)?.size, (await driver.instances(spec.id)).length], [2, 2]);
  });
}

for (const fault of ["CutBefore", "CutAfter", "Throttled"] as const) {
  Deno.test(`K7 openGoogle: replaces a leaving machine once, with ${fault} at every call`, async () => {
    await using world = open();
    const driver = await world.driver;
    const [first] = await driver.instances(spec.id);
    ok(first);
    const remove = (): Promise<string> =>
      driver.remove({ group: spec.id, providerId: first.providerId, shrinks: false });
    for (let nth = 1, isBefallen = true; isBefallen; nth++) {
      const before = world.stub.calls.length;
      world.stub.fault = (at) => at === before + nth ? fault : undefined;
      await remove().catch((error: { type?: string }) => equal(error.type, "ApiUnavailable", String(error)));
      isBefallen = world.stub.calls.length - before >= nth;
    }
    world.stub.fault = () => undefined;
    equal(await remove(), "Going");
    const left = (await driver.instances(spec.id)).filter(({ state }) => state !== "Terminating");
    deepEqual([left.length, world.cloud.group(spec.id)?.size], [2, 2]);
    // No remaining machine can be confused with the leaving one: its name differs, and it has no token.
    ok(left.every(({ providerId, token }) => providerId !== first.providerId && token === undefined));
  });
}

Deno.test("K7 openGoogle: also removes the replacement that an interrupted removal has ordered, when the repeated removal shrinks the group", async () => {
  await using world = open();
  const driver = await world.driver;
  const [{ providerId } = { providerId: "" }] = await driver.instances(spec.id);
  world.stub.fault = (_, action) => action === "POST delete" ? "CutBefore" : undefined;
  await rejects(driver.remove({ group: spec.id, providerId, shrinks: false }), { type: "ApiUnavailable" });
  equal(world.cloud.group(spec.id)?.size, 3);
  world.stub.fault = () => undefined;
  equal(await driver.remove({ group: spec.id, providerId, shrinks: true }), "Going");
  equal(world.cloud.group(spec.id)?.size, 1);
});

Deno.test("K7 openGoogle: removes nothing from another group", async () => {
  await using world = open({ groups: [spec, regional] });
  const driver = await world.driver;
  const [{ providerId } = { providerId: "" }] = await driver.instances(regional.id);
  await rejects(driver.remove({ group: spec.id, providerId, shrinks: true }), {
    type: "CloudRefused",
    message: /: the instance does not belong to group/,
  });
  equal(world.cloud.group(regional.id)?.size, 2);
});

for (const fault of ["CutBefore", "CutAfter", "Broken", "Throttled"] as const) {
  for (const call of ["POST create", "GET group"]) {
    Deno.test(`K8 openGoogle: sends ${call} once per attempt, also after ${fault}`, async () => {
      await using world = open();
      world.stub.fault = (_, action) => action === call ? fault : undefined;
      await rejects((await world.driver).order({ group: spec.id, token: "t" }), { type: "ApiUnavailable" });
      equal(world.stub.calls.filter((each) => each === call).length, 1);
    });
  }
}

Deno.test("K10 openGoogle: reports missing capacity when Google does so at once", async () => {
  await using world = open({ saysNo: { create: "QUOTA_EXCEEDED" }, saysNoIn: "Operation" });
  const answer = await (await world.driver).order({ group: spec.id, token: "t" });
  deepEqual(answer, { outcome: "NoCapacity", says: "QUOTA_EXCEEDED: not now" });
});

for (const [reason, type] of [["quotaExceeded", "NoCapacity"], ["forbidden", "AccessDenied"]] as const) {
  Deno.test(`openGoogle: reports "${reason}" as ${type}`, async () => {
    await using world = open({ saysNo: { create: reason } });
    const answer = (await world.driver).order({ group: spec.id, token: "t" });
    equal(await answer.then(({ outcome }) => outcome, (error: { type?: string }) => error.type), type);
  });
}

Deno.test("K10 openGoogle: does not report missing capacity before it has lowered the size again", async () => {
  await using world = open({ capacity: 2, saysNo: { delete: "invalid" } });
  const driver = await world.driver;
  await rejects(driver.order({ group: spec.id, token: "t" }), {
    type: "CloudRefused",
    message: /^Failed to delete instance "t-[0-9a-f]{8}", for which capacity is missing: not now$/,
  });
  deepEqual([world.cloud.group(spec.id)?.size, (await driver.instances(spec.id)).at(-1)?.token], [3, "t"]);
});

Deno.test("K7 openGoogle: does not replace a machine that another client deleted", async () => {
  await using world = open();
  const [first] = world.cloud.instances();
  ok(first);
  world.cloud.remove(first.providerId, true);
  const driver = await world.driver;
  const providerId = `gce://p-1/${first.zone}/${first.node}`;
  equal(await driver.remove({ group: spec.id, providerId, shrinks: false }), "Going");
  equal(world.cloud.group(spec.id)?.size, 1);
});
