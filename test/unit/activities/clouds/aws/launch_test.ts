import type { AutoScalingGroup } from "@aws-sdk/client-auto-scaling";
import type { Instance as Ec2Instance } from "@aws-sdk/client-ec2";
import { deepEqual, equal, match, ok, rejects } from "node:assert/strict";
import { attemptsIn, textOf } from "../../../../../activities/clouds/aws/attempts.ts";
import { AwsApi, type Connected } from "../../../../../activities/clouds/aws/api.ts";
import { launchOnce } from "../../../../../activities/clouds/aws/launch.ts";
import type { Journal } from "../../../../../activities/clouds/driver.ts";
import { type AwsWorld, spec, worldOf } from "../../../../support/clouds/aws_world.ts";

const failures: { code: string; type: string }[] = [
  ...["RequestLimitExceeded", "InternalError", "Unavailable"].map((code) => ({ code, type: "ApiUnavailable" })),
  { code: "UnauthorizedOperation", type: "AccessDenied" },
  ...["InvalidParameterValue", "InvalidAMIID.NotFound"].map((code) => ({ code, type: "CloudRefused" })),
];

for (const { code, type } of failures) {
  Deno.test(`K10 openAws: fails with ${type} when a launch answers with ${code}`, async () => {
    await using world = worldOf({ launchErrors: [code] });
    const order = (await world.driver).order({ group: spec.id, token: "t" });
    await rejects(order, { type, message: `Failed to order an instance of "Workers-asg": ${code}: it failed` });
  });
}

for (const code of ["VcpuLimitExceeded", "InsufficientVolumeCapacity", "ReservationCapacityExceeded"]) {
  Deno.test(`K10 openAws: treats ${code} as missing capacity`, async () => {
    await using world = worldOf({ launchErrors: [code] });
    const answer = await (await world.driver).order({ group: spec.id, token: "t" });
    ok(answer.outcome === "NoCapacity");
    equal(answer.says, `${code}: it failed; ${code}: it failed`);
  });
}

Deno.test("K8 openAws: fails with ApiUnavailable when AWS reports neither an instance nor an error", async () => {
  await using world = worldOf({ launchErrors: [] });
  await rejects((await world.driver).order({ group: spec.id, token: "t" }), { type: "ApiUnavailable" });
});

/** A journal that a test can read and change. */
class Pages implements Journal {
  constructor(public text = "") {}

  read = (): Promise<string> => Promise.resolve(this.text);

  write = ({ from, to }: { from: string; to: string }): Promise<boolean> => {
    const isSame = this.text === from;
    if (isSame) this.text = to;
    return Promise.resolve(isSame);
  };

  /** Moves the open attempt and the creation times of all instances this many minutes into the past. */
  age(minutes: number, { cloud }: AwsWorld): void {
    const { number, open } = attemptsIn(this.text);
    ok(open);
    this.text = textOf({ number, open: { ...open, since: open.since - minutes * 60_000 } });
    for (const each of cloud.instances()) {
      each.since = new Date(Math.max(0, Date.parse(each.since) - minutes * 60_000)).toISOString();
    }
  }
}

function zonesIn({ cloud }: AwsWorld): string[] {
  return cloud.instances().slice(2).filter(({ state }) => state !== "Terminating").map(({ zone }) => zone);
}

for (const remembersErrors of [false, true]) {
  Deno.test(`fault G7: openAws launches in the next zone when a zone is full (AWS repeats errors for a token: ${remembersErrors})`, async () => {
    await using world = worldOf({ remembersErrors });
    world.stub.ground.fullZones = ["eu-west-1a"];
    const answer = await (await world.driver).order({ group: spec.id, token: "t" });
    ok(answer.outcome === "Ordered");
    deepEqual([answer.instance.zone, zonesIn(world)], ["eu-west-1b", ["eu-west-1b"]]);
  });

  Deno.test(`fault G7: openAws launches in a zone that was full once the zone has capacity (AWS repeats errors for a token: ${remembersErrors})`, async () => {
    await using world = worldOf({ remembersErrors });
    const order = { group: spec.id, token: "t", journal: new Pages() };
    world.stub.ground.fullZones = spec.zones;
    equal((await (await world.driver).order(order)).outcome, "NoCapacity");
    world.stub.ground.fullZones = [];
    const answer = await (await world.driver).order(order);
    deepEqual([answer.outcome, zonesIn(world).length, world.cloud.group(spec.id)?.size], ["Ordered", 1, 3]);
  });
}

Deno.test("fault G7: openAws records each attempt before its request", async () => {
  await using world = worldOf();
  const journal = new Pages();
  const seen: string[] = [];
  world.stub.fault = (_, action) => {
    if (action === "LaunchInstances") seen.push(journal.text);
    return undefined;
  };
  world.stub.ground.fullZones = ["eu-west-1a"];
  await (await world.driver).order({ group: spec.id, token: "t", journal });
  for (const text of seen) match(text, /^[12] eu-west-1[ab] \d+$/);
  deepEqual(seen.map((text) => attemptsIn(text).open?.zone), ["eu-west-1a", "eu-west-1b"]);
});

for (const fault of ["CutAfter", "CutBefore"] as const) {
  for (const action of ["LaunchInstances", "CreateTags"]) {
    Deno.test(`fault G7: openAws launches one instance in total if AWS has forgotten the token of an attempt that is an hour old (${action} ${fault})`, async () => {
      await using world = worldOf();
      const journal = new Pages();
      const driver = await world.driver;
      const order = { group: spec.id, token: "t", journal };
      world.stub.fault = (_, each) => each === action ? fault : undefined;
      await rejects(driver.order(order), { type: "ApiUnavailable" });
      world.stub.fault = () => undefined;
      world.stub.ground.isForgetful = true;
      journal.age(60, world);
      const answer = await driver.order(order);
      ok(answer.outcome === "Ordered");
      deepEqual([world.cloud.group(spec.id)?.size, zonesIn(world).length], [3, 1]);
      equal((await driver.instance(answer.instance.providerId))?.token, "t");
    });
  }
}

Deno.test("fault G7: openAws launches nothing while AWS may have forgotten the token and may not list the new instance yet", async () => {
  await using world = worldOf({ lagMs: 60_000 });
  const journal = new Pages();
  const driver = await world.driver;
  world.stub.fault = (_, action) => action === "LaunchInstances" ? "CutAfter" : undefined;
  await rejects(driver.order({ group: spec.id, token: "t", journal }), { type: "ApiUnavailable" });
  world.stub.fault = () => undefined;
  world.stub.ground.isForgetful = true;
  journal.age(11, world);
  await rejects(driver.order({ group: spec.id, token: "t", journal }), {
    type: "ApiUnavailable",
    message: /the result of the launch in zone "eu-west-1a" is unknown until \d{4}-/,
  });
  equal(zonesIn(world).length, 1);
});

Deno.test("fault G7: openAws does not use an instance of another order, zone or time as the result of an old attempt", async () => {
  await using world = worldOf();
  const journal = new Pages(textOf({ number: 1, open: { zone: "eu-west-1a", since: Date.now() - 3_600_000 } }));
  const group = world.cloud.group(spec.id);
  ok(group);
  group.max = 9;
  const made = ["other", "elsewhere", "later"].map((token) => world.cloud.order(group, token));
  const [other, elsewhere, later] = made;
  ok(other && elsewhere && later);
  for (const each of [other, later]) each.zone = "eu-west-1a";
  elsewhere.zone = "eu-west-1b";
  for (const each of [other, elsewhere]) each.since = new Date(Date.now() - 3_500_000).toISOString();
  world.stub.ground.mark(other, "ostler-order", "other");
  const answer = await (await world.driver).order({ group: spec.id, token: "t", journal });
  ok(answer.outcome === "Ordered");
  deepEqual([group.size, world.cloud.instances().length, attemptsIn(journal.text).number], [6, 6, 2]);
});

Deno.test("fault G7: openAws removes an instance whose attempt another process ended meanwhile", async () => {
  await using world = worldOf();
  const journal = new Pages();
  world.stub.fault = (_, action) => {
    if (action === "LaunchInstances") {
      journal.text = textOf({ number: 2, open: { zone: "eu-west-1b", since: Date.now() } });
    }
    return undefined;
  };
  const ordered = (await world.driver).order({ group: spec.id, token: "t", journal });
  await rejects(ordered, { type: "ApiUnavailable", message: /another process closed the attempt that launched "i-/ });
  deepEqual([world.cloud.group(spec.id)?.size, zonesIn(world)], [2, []]);
  world.stub.fault = () => undefined;
  equal((await (await world.driver).order({ group: spec.id, token: "t", journal })).outcome, "Ordered");
  deepEqual([world.cloud.group(spec.id)?.size, zonesIn(world)], [3, ["eu-west-1b"]]);
});

for (
  const [code, status, isClosed] of [["AccessDenied", 403, true], ["ValidationError", 400, true], [
    "Throttling",
    400,
    false,
  ]] as const
) {
  Deno.test(`fault G7: openAws ${isClosed ? "closes" : "leaves open"} an attempt whose request AWS answers with ${code}`, async () => {
    await using world = worldOf();
    const journal = new Pages();
    world.stub.ground.launchRefusal = { code, status };
    const driver = await world.driver;
    await rejects(driver.order({ group: spec.id, token: "t", journal }));
    const { number, open } = attemptsIn(journal.text);
    deepEqual([number, open === undefined, driver.attempts?.isOpen(journal.text)], [1, isClosed, !isClosed]);
  });
}

/** Orders an instance, which AWS launches, and loses the answer; returns the order. */
async function withoutAnswer(world: AwsWorld): Promise<{ group: string; token: string; journal: Pages }> {
  const order = { group: spec.id, token: "t", journal: new Pages() };
  world.stub.fault = (_, action) => action === "LaunchInstances" ? "CutAfter" : undefined;
  await rejects((await world.driver).order(order), { type: "ApiUnavailable" });
  world.stub.fault = () => undefined;
  return order;
}

Deno.test("fault G7: openAws leaves an attempt open whose repeated request AWS refuses, because the first request may have launched an instance", async () => {
  await using world = worldOf();
  const order = await withoutAnswer(world);
  const driver = await world.driver;
  world.stub.ground.launchRefusal = { code: "AccessDenied", status: 403 };
  await rejects(driver.order(order), { type: "AccessDenied" });
  world.stub.ground.launchRefusal = undefined;
  equal((await driver.order(order)).outcome, "Ordered");
  deepEqual([world.cloud.group(spec.id)?.size, zonesIn(world).length], [3, 1]);
});

Deno.test("fault G7: launchOnce returns the instance of an old attempt that another call has meanwhile tagged with the same token", async () => {
  const since = Date.now() - 3_600_000;
  const journal = new Pages(textOf({ number: 1, open: { zone: "eu-west-1a", since } }));
  const tagged = { InstanceId: "i-1", Placement: { AvailabilityZone: "eu-west-1a" } };
  const listed = (): Promise<Ec2Instance[]> =>
    Promise.resolve([{ ...tagged, LaunchTime: new Date(since), Tags: [{ Key: "ostler-order", Value: "t" }] }]);
  const calls: string[] = [];
  const call = (name: string) => (): Promise<object> => Promise.resolve({ name: calls.push(name) });
  const clouds = { ec2: { createTags: call("createTags") }, scaling: { launchInstances: call("launchInstances") } };
  const api = new AwsApi(clouds as unknown as Connected, undefined);
  const group = { AutoScalingGroupName: "g", AvailabilityZones: ["eu-west-1a"] } as AutoScalingGroup;
  const launched = await launchOnce(api, { group, token: "t", clusterTag: "c", journal, listed });
  deepEqual(launched, { outcome: "Launched", providerId: "aws:///eu-west-1a/i-1", zone: "eu-west-1a" });
  deepEqual(calls, ["createTags"]);
});

Deno.test("K10 launchOnce: is Transient while another client changes the tags of the new instance", async () => {
  const busy = Object.assign(new Error("it failed"), {
    name: "ConcurrentTagAccess",
    $metadata: { httpStatusCode: 400 },
  });
  const clouds = {
    ec2: { createTags: () => Promise.reject(busy) },
    scaling: { launchInstances: () => Promise.resolve({ Instances: [{ InstanceIds: ["i-1"] }] }) },
  };
  const api = new AwsApi(clouds as unknown as Connected, undefined);
  const group = { AutoScalingGroupName: "g", AvailabilityZones: ["eu-west-1a"] } as AutoScalingGroup;
  const listed = (): Promise<Ec2Instance[]> => Promise.resolve([]);
  const launched = launchOnce(api, { group, token: "t", clusterTag: "c", journal: new Pages(), listed });
  await rejects(launched, { type: "ApiUnavailable" });
});

Deno.test("fault G7: openAws ends an attempt whose answer was lost: its instance gets the token, and no other is launched", async () => {
  await using world = worldOf();
  const order = await withoutAnswer(world);
  const { journal } = order;
  const driver = await world.driver;
  for (const _ of [1, 2]) await driver.attempts?.end(order);
  const made = (await driver.instances(spec.id)).filter(({ token }) => token === "t");
  deepEqual([made.length, zonesIn(world).length, driver.attempts?.isOpen(journal.text)], [1, 1, true]);
  world.cloud.set(world.cloud.instances().at(-1)?.providerId ?? "", { state: "Terminating" });
  await driver.attempts?.end(order);
  equal(driver.attempts?.isOpen(journal.text), false);
});

Deno.test("fault G7: openAws closes the journal of an attempt that launched nothing, and attempts no other zone", async () => {
  await using world = worldOf();
  const journal = new Pages(textOf({ number: 1, open: { zone: "eu-west-1a", since: Date.now() } }));
  world.stub.ground.fullZones = ["eu-west-1a"];
  for (const _ of [1, 2]) await (await world.driver).attempts?.end({ group: spec.id, token: "t", journal });
  deepEqual([journal.text, zonesIn(world)], ["1", []]);
});

Deno.test("fault G7: attemptsIn reads what was written, and reads any other text as no attempts", () => {
  for (const text of ["", "x", "1 a", "-1", "1 a b", "99999999999"]) {
    deepEqual(attemptsIn(text), { number: 0, open: undefined });
  }
  for (const attempts of [{ number: 3, open: undefined }, { number: 4, open: { zone: "z", since: 5_000 } }]) {
    deepEqual(attemptsIn(textOf(attempts)), attempts);
  }
});
