import { deepEqual, equal } from "node:assert/strict";
import { open, spec } from "../../../../support/clouds/google_world.ts";

Deno.test("openGoogle: reads the autoscalers of all groups in one list, and requests a single autoscaler only if the list lacks it", async () => {
  const groups = Array.from({ length: 6 }, (_, nth) => {
    const name = `group-${nth}`;
    return { ...spec, id: spec.id.replace("workers-mig", name), name, max: nth + 2, size: 1 };
  });
  await using world = open({ groups });
  const { groups: found } = await (await world.driver).groups();
  deepEqual(found.map(({ max }) => max), [2, 3, 4, 5, 6, 7]);
  equal(world.stub.calls.filter((each) => each === "GET autoscaler").length, 1);
});
