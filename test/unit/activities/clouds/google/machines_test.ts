import { deepEqual, equal } from "node:assert/strict";
import { image1, image2, open, spec } from "../../../../support/clouds/google_world.ts";

Deno.test("openGoogle: reads the disks of a machine once, and again for another machine with the same name", async () => {
  await using world = open();
  const driver = await world.driver;
  const seen = async (): Promise<unknown[]> => {
    const images = (await driver.instances(spec.id)).map(({ image }) => image);
    return [images.sort(), world.stub.calls.filter((each) => each === "GET disks").length];
  };
  for (let nth = 0; nth < 2; nth++) deepEqual(await seen(), [[image1, image1], 1]);
  // Google has recreated the first instance with the same name.
  const [first] = world.cloud.instances();
  Object.assign(first ?? {}, {
    since: new Date(1_000).toISOString(),
    template: { id: "t", fields: { image: image2 } },
  });
  deepEqual(await seen(), [[image1, image2], 2]);
  equal((await driver.order({ group: spec.id, token: "t" })).outcome, "Ordered");
  deepEqual(await seen(), [[image1, image1, image2], 3]);
});
