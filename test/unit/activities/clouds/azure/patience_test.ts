import { ok, rejects } from "node:assert/strict";
import { spec, worldOf } from "../../../../support/clouds/azure_world.ts";

Deno.test("openAzure: polls for the result of an order at growing intervals", async () => {
  await using world = worldOf({ lagMs: 3_600_000, patienceMs: 10_000 });
  const driver = await world.open(AbortSignal.timeout(2_300));
  await rejects(driver.order({ group: spec.id, token: "t" }));
  const looks = world.stub.calls.filter((each) => each === "vms").length;
  ok(looks >= 2 && looks <= 4, `it looked ${looks} times`);
});
