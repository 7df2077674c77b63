import { deepEqual, equal, match, ok, rejects } from "node:assert/strict";
import { openAws } from "../../../../activities/clouds/aws.ts";
import type { Driver } from "../../../../activities/clouds/driver.ts";
import { clusterTag, spec, worldOf as open } from "../../../support/clouds/aws_world.ts";
import { truthIn } from "../../../support/clouds/group_truth.ts";
import { type CloudConditions, type CloudUnderTest, conforms } from "../../../support/driver_conformance.ts";

/** Returns a driver at once; each of its calls waits until `driver` is opened. */
function opened(driver: Promise<Driver>): Driver {
  const handler = (verb: string) => async (...args: unknown[]) =>
    await ((await driver)[verb as keyof Driver] as (...args: unknown[]) => unknown)(...args);
  return new Proxy({} as Driver, { get: (_, verb) => handler(String(verb)) });
}

function underTest({ hidesNew, capacity }: CloudConditions = {}): CloudUnderTest {
  const { cloud, stub, driver, [Symbol.asyncDispose]: end } = open({
    ...(hidesNew ? { lagMs: 3_600_000 } : {}),
    ...(capacity === undefined ? {} : { capacity }),
    images: ["image-1", "image-2", "image-3"],
  });
  return {
    driver: opened(driver),
    group: spec.id,
    images: ["image-2", "image-3"],
    calls: () => stub.calls.length,
    befall: (fault, after) => {
      const at = stub.calls.length + 1 + after;
      stub.fault = (nth) => nth === at ? fault : undefined;
    },
    ...truthIn(cloud, spec.id, (each) => new Map(stub.ground.tagsOf(each)).get("ostler-order")),
    [Symbol.asyncDispose]: end,
  };
}

conforms("openAws", underTest);

Deno.test("K20 openAws: finds the groups of all pages, and only those of its cluster", async () => {
  await using world = open({ groups: [spec, { ...spec, id: "cp", name: "control", role: "ControlPlane" }] });
  const { groups } = await (await world.driver).groups();
  deepEqual(groups.map(({ id, name, role }) => [id, name, role]), [
    ["Workers-asg", "workers", "Worker"],
    ["cp", "control", "ControlPlane"],
  ]);
  const other = await openAws({ region: "eu-west-1", clusterTag: "cluster-2", endpoint: world.stub.url });
  deepEqual([(await other.groups()).groups, await other.group(spec.id)], [[], undefined]);
});

Deno.test("K20 openAws: fails when the second page of groups fails", async () => {
  await using world = open({ groups: [spec, { ...spec, id: "other", name: "other" }] });
  world.stub.fault = (nth) => nth === 2 ? "Throttled" : undefined;
  await rejects((await world.driver).groups(), { type: "ApiUnavailable" });
});

Deno.test("openAws: returns instances with the names of their nodes", async () => {
  await using world = open();
  const instances = await (await world.driver).instances(spec.id);
  deepEqual(instances.map(({ providerId, node, image }) => [providerId, node, image]), [
    ["aws:///eu-west-1b/i-00000000000000001", "workers-1.ec2.internal", "image-1"],
    ["aws:///eu-west-1a/i-00000000000000002", "workers-2.ec2.internal", "image-1"],
  ]);
});

for (const version of ["$Latest", "$Default", "1"]) {
  Deno.test(`K17 openAws: replaces template version "${version}" by a number that it has read`, async () => {
    await using world = open({ version });
    const driver = await world.driver;
    const first = await driver.template(spec.id);
    match(first.id, /^lt-[0-9a-f]{17}:1$/);
    const seen: string[] = [];
    world.stub.fault = (_, action) => {
      const { boots } = world.cloud.group(spec.id) ?? {};
      seen.push(`${action} ${boots?.fields.image}`);
      return undefined;
    };
    const second = await driver.ensureImage({ group: spec.id, image: "image-2" });
    equal(second.id, first.id.replace(/:1$/, ":2"));
    const group = world.cloud.group(spec.id);
    ok(group);
    equal(world.stub.ground.versionOf(group), "2");
    // Each entry ends with the image that the group boots at that call; before the update of the group this is the
    // previous image.
    const made = seen.findIndex((each) => each.startsWith("CreateLaunchTemplateVersion"));
    const after = seen.slice(made).filter((each) => !each.startsWith("Describe"));
    deepEqual(after.slice(0, 2), ["CreateLaunchTemplateVersion image-1", "UpdateAutoScalingGroup image-1"]);
  });
}

Deno.test("K18 openAws: uses an equal template that another process made", async () => {
  await using world = open();
  const group = world.cloud.group(spec.id);
  ok(group);
  for (const machineType of ["m5.xlarge", "m5.large"]) {
    world.cloud.addTemplate(group, { ...spec.template, image: "image-2", machineType });
  }
  const { id } = await (await world.driver).ensureImage({ group: spec.id, image: "image-2" });
  deepEqual([id.replace(/^.*:/, ""), group.templates.length], ["3", 3]);
});

Deno.test("K19 openAws: keeps user data, machine type and disk snapshot in the template of another image", async () => {
  await using world = open({ groups: [{ ...spec, template: { ...spec.template, snapshot: "snap-1" } }] });
  await (await world.driver).ensureImage({ group: spec.id, image: "image-2" });
  const { image, ...others } = world.cloud.group(spec.id)?.boots.fields ?? { image: "" };
  deepEqual([image, others], ["image-2", { machineType: "m5.large", userData: "c2VjcmV0", snapshot: "snap-1" }]);
});

Deno.test("K19 openAws: refuses a template that lost a field on its way, and shows no secret", async () => {
  await using world = open();
  const { ground } = world.stub;
  const add = ground.addVersion.bind(ground);
  ground.addVersion = (group, fields) => add(group, { image: fields.image });
  await rejects((await world.driver).ensureImage({ group: spec.id, image: "image-2" }), {
    type: "CloudRefused",
    message: /besides the image, the template also differs from "lt-\w+:1" in "InstanceType", "UserData"$/,
  });
  equal(world.cloud.group(spec.id)?.boots.fields.image, "image-1");
});

Deno.test("K8 openAws: orders in the emptiest zone, and repeats an order in the same zone although another zone is the emptiest by then", async () => {
  await using world = open({ groups: [{ ...spec, size: 1 }], lagMs: 60_000 });
  const driver = await world.driver;
  world.stub.fault = (_, action) => action === "CreateTags" ? "CutBefore" : undefined;
  await rejects(driver.order({ group: spec.id, token: "t" }), { type: "ApiUnavailable" });
  const ordered = world.cloud.instances().at(-1);
  equal(ordered?.zone, "eu-west-1a");
  // AWS lists both instances from now on and the first one is terminated, so the other zone is the emptiest.
  for (const each of world.cloud.instances()) each.since = new Date(0).toISOString();
  world.cloud.set(world.cloud.instances()[0]?.providerId ?? "", { state: "Terminated" });
  world.stub.fault = () => undefined;
  const again = await driver.order({ group: spec.id, token: "t" });
  ok(ordered && again.outcome === "Ordered");
  deepEqual([again.instance.providerId, world.cloud.instances().length], [
    `aws:///eu-west-1a/${world.stub.ground.idOf(ordered)}`,
    2,
  ]);
});

for (const remembersErrors of [false, true]) {
  Deno.test(`K10 openAws: reports for each order that no zone has capacity (AWS repeats errors for a token: ${remembersErrors})`, async () => {
    await using world = open({ capacity: 2, remembersErrors });
    const driver = await world.driver;
    for (let nth = 0; nth < 2; nth++) {
      const answer = await driver.order({ group: spec.id, token: "t" });
      ok(answer.outcome === "NoCapacity");
      match(answer.says, /^InsufficientInstanceCapacity: the capacity of 2 instances is exhausted/);
    }
    equal(world.cloud.group(spec.id)?.size, 2);
  });
}

Deno.test("K7 openAws: removes nothing from another group", async () => {
  await using world = open({ groups: [spec, { ...spec, id: "other", name: "other" }] });
  const driver = await world.driver;
  const [{ providerId } = { providerId: "" }] = await driver.instances("other");
  await rejects(driver.remove({ group: spec.id, providerId, shrinks: true }), { type: "CloudRefused" });
  equal(world.cloud.group("other")?.size, 2);
});

Deno.test("openAws: reports protected and unhealthy instances", async () => {
  await using world = open();
  const [first, second] = world.cloud.instances();
  ok(first && second);
  first.isProtected = true;
  second.trouble = "ill";
  const seen = await (await world.driver).instances(spec.id);
  deepEqual(seen.map(({ isProtected, trouble }) => [isProtected, trouble]), [
    [true, ""],
    [false, "the group reports the instance as UNHEALTHY"],
  ]);
});

Deno.test("openAws: stops when its signal is aborted", async () => {
  await using world = open();
  const ended = new AbortController();
  const driver = await openAws({ region: "eu-west-1", clusterTag, endpoint: world.stub.url, signal: ended.signal });
  ended.abort(new Error("it ends"));
  await rejects(driver.groups(), { message: "it ends" });
});

Deno.test("fault G2: openAws launches in the zone that the order names, although another zone has fewer instances", async () => {
  await using world = open({ groups: [{ ...spec, size: 1 }] });
  const [{ zone } = { zone: "" }] = world.cloud.instances();
  const answer = await (await world.driver).order({ group: spec.id, token: "t", zone });
  ok(answer.outcome === "Ordered");
  equal(answer.instance.zone, zone);
});

Deno.test("fault G2: openAws reports that the zone that the order names has no capacity, and launches in no other zone", async () => {
  await using world = open({ launchErrors: ["InsufficientInstanceCapacity"] });
  const answer = await (await world.driver).order({ group: spec.id, token: "t", zone: "eu-west-1b" });
  deepEqual(answer, { outcome: "NoCapacity", says: "InsufficientInstanceCapacity: it failed" });
});

Deno.test("fault G2: openAws launches in any zone of the group when the group no longer has the zone that the order names", async () => {
  await using world = open();
  const answer = await (await world.driver).order({ group: spec.id, token: "t", zone: "eu-west-1z" });
  equal(answer.outcome, "Ordered");
});

Deno.test("fault G2: openAws returns the existing instance when an order without a zone is repeated with a zone, although the instance is in another zone", async () => {
  await using world = open({ groups: [{ ...spec, size: 1 }], lagMs: 60_000 });
  const driver = await world.driver;
  const first = await driver.order({ group: spec.id, token: "t" });
  const again = await driver.order({ group: spec.id, token: "t", zone: "eu-west-1b" });
  ok(first.outcome === "Ordered" && again.outcome === "Ordered");
  deepEqual([again.instance.providerId, world.cloud.instances().length], [first.instance.providerId, 2]);
});
