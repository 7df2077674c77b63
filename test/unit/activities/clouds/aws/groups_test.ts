import { deepEqual, equal, rejects } from "node:assert/strict";
import { spec, worldOf } from "../../../../support/clouds/aws_world.ts";

const many = Array.from({ length: 30 }, (_, nth) => ({ ...spec, id: `group-${nth}`, name: `group-${nth}`, size: 1 }));

Deno.test("openAws: reads one group by its name, however many there are", async () => {
  await using world = worldOf({ groups: many });
  const driver = await world.driver;
  equal((await driver.group("group-29"))?.name, "group-29");
  deepEqual(world.stub.calls, ["DescribeAutoScalingGroups"]);
  await driver.instances("group-29");
  deepEqual(world.stub.calls.slice(1), ["DescribeAutoScalingGroups", "DescribeInstances"]);
});

Deno.test("openAws: returns no group for the name of a group that belongs to another cluster", async () => {
  await using world = worldOf({ clusterTag: "cluster-2" });
  equal(await (await world.driver).group(spec.id), undefined);
});

for (const name of ["a*", "a?", "a\\b", 'a"b', "a[b]"]) {
  Deno.test(`K21 openAws: does not return instances of other groups for "${name}"`, async () => {
    const groups = [name, "ab", "abc", "a\\\\b"].map((id) => ({ ...spec, id, name: id, size: 1 }));
    await using world = worldOf({ groups });
    const driver = await world.driver;
    deepEqual((await driver.instances(name)).map(({ group }) => group), [name]);
    const ordered = await driver.order({ group: name, token: "t" });
    deepEqual([ordered.outcome, world.cloud.group(name)?.size], ["Ordered", 2]);
  });
}

const unruly = [
  { properties: { WarmPoolConfiguration: { MinSize: 1, PoolState: "Stopped" } }, says: /it has a warm pool/ },
];

for (const { properties, says } of unruly) {
  Deno.test(`openAws: reads a group with ${Object.keys(properties).join()}, and refuses to change it`, async () => {
    await using world = worldOf({ properties });
    const driver = await world.driver;
    equal((await driver.group(spec.id))?.size, 2);
    const refused = { type: "CloudRefused", nonRetryable: true, message: says };
    await rejects(driver.order({ group: spec.id, token: "t" }), refused);
    await rejects(driver.ensureImage({ group: spec.id, image: "image-2" }), refused);
    deepEqual([world.cloud.instances().length, world.cloud.group(spec.id)?.boots.fields.image], [2, "image-1"]);
  });
}

Deno.test("fault G2: openAws suspends and resumes AZRebalance of a group of several zones", async () => {
  await using world = worldOf({ groups: [spec, { ...spec, id: "one", name: "one", zones: ["eu-west-1a"] }] });
  const driver = await world.driver;
  const moving = async (): Promise<string[]> =>
    (await driver.groups()).groups.filter(({ rebalances }) => rebalances).map(({ id }) => id);
  deepEqual(await moving(), [spec.id]);
  for (const isOn of [false, false]) await driver.ensureRebalancing?.({ group: spec.id, isOn });
  deepEqual(await moving(), []);
  for (const isOn of [true, true]) await driver.ensureRebalancing?.({ group: spec.id, isOn });
  deepEqual(await moving(), [spec.id]);
  deepEqual(world.stub.calls.filter((each) => each.endsWith("Processes")), ["SuspendProcesses", "ResumeProcesses"]);
  await driver.ensureRebalancing?.({ group: "none", isOn: false });
});
const overrides = [{ InstanceType: "m5.large" }, { InstanceType: "m6i.large" }];
const wholly = [
  { title: "default", mixed: { Overrides: overrides } },
  { title: "On-Demand", mixed: { InstancesDistribution: { OnDemandPercentageAboveBaseCapacity: 100 } } },
  {
    title: "On-Demand with a base",
    mixed: { InstancesDistribution: { OnDemandBaseCapacity: 2, OnDemandPercentageAboveBaseCapacity: 100 } },
  },
  {
    title: "Spot",
    mixed: {
      Overrides: overrides,
      InstancesDistribution: {
        ...{ OnDemandBaseCapacity: 0, OnDemandPercentageAboveBaseCapacity: 0 },
        SpotAllocationStrategy: "capacity-optimized",
      },
    },
  },
];

for (const { title, mixed } of wholly) {
  Deno.test(`fault G9: openAws rolls a group with a wholly ${title} mixed instances policy, and keeps the policy`, async () => {
    await using world = worldOf({ mixed, version: "$Latest" });
    const driver = await world.driver;
    const before = await driver.template(spec.id);
    const shown = JSON.stringify(world.stub.ground.mixed);
    equal((await driver.ensureImage({ group: spec.id, image: "image-2" })).image, "image-2");
    equal((await driver.order({ group: spec.id, token: "t" })).outcome, "Ordered");
    equal((await driver.ensureTemplate({ group: spec.id, template: before.id })).image, "image-1");
    equal(JSON.stringify(world.stub.ground.mixed).replaceAll(/"(\d+)"/g, "$1"), shown);
  });
}

const mixtures = [
  {
    title: "On-Demand above a base and Spot",
    mixed: { InstancesDistribution: { OnDemandPercentageAboveBaseCapacity: 50 } },
    says: /buys On-Demand and Spot Instances \(base 0, then 50 % On-Demand\); set OnDemandPercentageAboveBaseCapacity/,
  },
  {
    title: "Spot above a base of On-Demand",
    mixed: { InstancesDistribution: { OnDemandBaseCapacity: 1, OnDemandPercentageAboveBaseCapacity: 0 } },
    says: /\(base 1, then 0 % On-Demand\)/,
  },
  {
    title: "weights",
    mixed: { Overrides: [{ InstanceType: "m5.large", WeightedCapacity: "2" }] },
    says: /an override of its mixed instances policy has weight 2; remove the weights$/,
  },
  {
    title: "a second launch template",
    mixed: { Overrides: [{ InstanceType: "m5.large", LaunchTemplateSpecification: { LaunchTemplateId: "lt-1" } }] },
    says: /an override of its mixed instances policy has a launch template of its own; remove it$/,
  },
  {
    title: "a second image",
    mixed: { Overrides: [{ InstanceType: "m5.large", ImageId: "ami-1" }] },
    says: /an override of its mixed instances policy has an image of its own; remove it$/,
  },
];
const owned = [
  {
    title: "that EKS owns",
    properties: {
      Tags: [{ Key: "constellation-uid", Value: "cluster-1" }, { Key: "eks:nodegroup-name", Value: "ng" }],
    },
    says: /it belongs to EKS managed node group "ng", which EKS updates by itself; use a self-managed group$/,
  },
  {
    title: "with an operator",
    properties: { Operator: { Principal: "eks.amazonaws.com" } },
    says: /only its operator "eks.amazonaws.com" can change it/,
  },
  {
    title: "whose size is in other units",
    properties: { DesiredCapacityType: "vcpu" },
    says: /its size is in vcpu; set DesiredCapacityType to units$/,
  },
];

for (const { title, says, ...conditions } of [...mixtures, ...owned]) {
  Deno.test(`fault G9: openAws refuses a group ${title.replace(/^(?!that|with|whose)/, "with ")}, and names the cause`, async () => {
    await using world = worldOf(conditions);
    const driver = await world.driver;
    const refused = { type: "CloudRefused", nonRetryable: true, message: says };
    await rejects(driver.order({ group: spec.id, token: "t" }), refused);
    await rejects(driver.template(spec.id), refused);
    await rejects(driver.ensureImage({ group: spec.id, image: "image-2" }), refused);
    equal(world.stub.calls.some((call) => !call.startsWith("Describe")), false);
    equal((await driver.group(spec.id))?.rebalances, undefined);
  });
}
