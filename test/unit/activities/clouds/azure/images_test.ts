import { equal, rejects } from "node:assert/strict";
import { images, spec, worldOf } from "../../../../support/clouds/azure_world.ts";

Deno.test("K17 openAzure: refuses an image without a version, even if the scale set boots it, and accepts an image with a version", async () => {
  const image = "publisher:offer:sku:latest";
  await using world = worldOf({ groups: [{ ...spec, template: { image } }] });
  const driver = await world.open();
  const ensured = driver.ensureImage({ group: spec.id, image });
  await rejects(ensured, {
    type: "CloudRefused",
    message: /the image does not name a version, so its meaning may change; name a version$/,
  });
  equal((await driver.ensureImage({ group: spec.id, image: images[1] })).image, images[1]);
});
