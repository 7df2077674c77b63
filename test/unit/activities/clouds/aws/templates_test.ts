import { equal, rejects } from "node:assert/strict";
import { spec, worldOf } from "../../../../support/clouds/aws_world.ts";

Deno.test("K17 openAws boots no image that a parameter names, as what it means may change", async () => {
  await using world = worldOf();
  const ensured = (await world.driver).ensureImage({ group: spec.id, image: "resolve:ssm:/images/workers" });
  await rejects(ensured, { type: "CloudRefused", message: /it names a parameter, so what it means may change$/ });
  equal(world.cloud.group(spec.id)?.templates.length, 1);
});
