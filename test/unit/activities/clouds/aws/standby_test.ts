import { deepEqual, ok } from "node:assert/strict";
import { type AwsWorld, spec, worldOf } from "../../../../support/clouds/aws_world.ts";

/** Moves an instance to standby, which decreases the desired capacity of its group. */
function enterStandby(world: AwsWorld): string {
  const [first] = world.cloud.instances(spec.id);
  const group = world.cloud.group(spec.id);
  ok(first && group);
  world.stub.ground.standby.add(first.providerId);
  group.size -= 1;
  return first.providerId;
}

Deno.test("openAws: counts an instance in standby in the size and the bounds of its group, as in the list of its instances", async () => {
  await using world = worldOf();
  const driver = await world.driver;
  enterStandby(world);
  const group = await driver.group(spec.id);
  deepEqual([group?.min, group?.max, group?.size], [2, 5, 2]);
  deepEqual((await driver.instances(spec.id)).map(({ isProtected }) => isProtected), [true, false]);
});

Deno.test("openAws: removes an instance in standby without decreasing the desired capacity, which does not count the instance", async () => {
  await using world = worldOf();
  const driver = await world.driver;
  const name = enterStandby(world);
  const [{ providerId } = { providerId: "" }] = await driver.instances(spec.id);
  const told = await driver.remove({ group: spec.id, providerId, shrinks: true });
  const states = world.cloud.instances(spec.id).map((each) => [each.providerId === name, each.state === "Terminating"]);
  deepEqual([told, world.cloud.group(spec.id)?.size, states], ["Going", 1, [[true, true], [false, false]]]);
  deepEqual((await driver.group(spec.id))?.size, 1);
});
