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

Deno.test("openAws: refuses a group by its name if another cluster has it", async () => {
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
  {
    properties: { MixedInstancesPolicy: { LaunchTemplate: { LaunchTemplateSpecification: { Version: "1" } } } },
    says: /it has a mixed instances policy/,
  },
];

for (const { properties, says } of unruly) {
  Deno.test(`openAws: shows a group with ${Object.keys(properties).join()}, and changes nothing in it`, async () => {
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
