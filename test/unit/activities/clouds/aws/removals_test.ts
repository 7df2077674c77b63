import { deepEqual, rejects } from "node:assert/strict";
import { spec, worldOf } from "../../../../support/clouds/aws_world.ts";

for (const [state, end] of [["Terminating", "Going"], ["Terminated", "Gone"]] as const) {
  Deno.test(`K7 openAws: returns ${end} for a ${state} machine that AWS refuses to terminate`, async () => {
    await using world = worldOf();
    const driver = await world.driver;
    const [{ providerId } = { providerId: "" }] = await driver.instances(spec.id);
    const [own] = world.cloud.instances();
    world.stub.ground.refusesEnds = true;
    world.stub.fault = (_, action) => {
      if (action.startsWith("Terminate")) world.cloud.set(own?.providerId ?? "", { state });
      return undefined;
    };
    const told = await driver.remove({ group: spec.id, providerId, shrinks: true });
    deepEqual([told, world.cloud.group(spec.id)?.size], [end, 2]);
  });
}

Deno.test("K7 openAws: reports that AWS refuses to terminate a running machine", async () => {
  await using world = worldOf();
  const driver = await world.driver;
  const [{ providerId } = { providerId: "" }] = await driver.instances(spec.id);
  world.stub.ground.refusesEnds = true;
  const removed = driver.remove({ group: spec.id, providerId, shrinks: true });
  await rejects(removed, { type: "CloudRefused", message: /^Failed to remove instance ".*": ValidationError: / });
});

Deno.test("openAws: refuses to remove a machine while its group cannot launch the replacement", async () => {
  const properties = { SuspendedProcesses: [{ ProcessName: "AZRebalance" }, { ProcessName: "Launch" }] };
  await using world = worldOf({ properties });
  const driver = await world.driver;
  const [{ providerId } = { providerId: "" }] = await driver.instances(spec.id);
  const removed = driver.remove({ group: spec.id, providerId, shrinks: false });
  await rejects(removed, {
    type: "CloudRefused",
    message: /cannot replace the instance; resume its suspended process Launch$/,
  });
  deepEqual([await driver.remove({ group: spec.id, providerId, shrinks: true }), world.cloud.group(spec.id)?.size], [
    "Going",
    1,
  ]);
});

const hook = { LifecycleTransition: "autoscaling:EC2_INSTANCE_TERMINATING", HeartbeatTimeout: 7_200 };

Deno.test("fault G8: openAws reports the lifecycle hook for which a terminating instance waits, and the heartbeat timeout of the hook", async () => {
  await using world = worldOf();
  const driver = await world.driver;
  const [{ providerId } = { providerId: "" }] = await driver.instances(spec.id);
  deepEqual(world.stub.calls.includes("DescribeLifecycleHooks"), false);
  world.stub.ground.hooks = [
    { ...hook, LifecycleHookName: "drain" },
    { LifecycleHookName: "start", LifecycleTransition: "autoscaling:EC2_INSTANCE_LAUNCHING", HeartbeatTimeout: 9_000 },
  ];
  await driver.remove({ group: spec.id, providerId, shrinks: true });
  const waits = (await driver.instances(spec.id)).map(({ state, waitsFor }) => [state, waitsFor]);
  const what = 'the Auto Scaling group waits for CompleteLifecycleAction of lifecycle hook "drain"';
  deepEqual(waits, [["Terminating", { what, longestMs: 7_200_000 }], ["Creating", undefined]]);
});
