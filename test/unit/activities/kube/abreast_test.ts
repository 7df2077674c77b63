import { deepEqual, equal, rejects } from "node:assert/strict";
import { abreast } from "../../../../activities/kube/status.ts";

Deno.test("concurrent calls: return the results in the order of the items, whichever completes first", async () => {
  const gates = [1, 2, 3].map(() => Promise.withResolvers<void>());
  const work = abreast(3, [0, 1, 2], async (item) => {
    await gates[item]?.promise;
    return item * 10;
  });
  for (const gate of gates.reverse()) gate.resolve();
  deepEqual(await work, [0, 10, 20]);
});

Deno.test("concurrent calls: run at most the given number of calls at the same time", async () => {
  let [running, most] = [0, 0];
  await abreast(4, Array.from({ length: 50 }), async () => {
    running += 1;
    most = Math.max(most, running);
    await Promise.resolve();
    running -= 1;
  });
  equal(most, 4);
});

Deno.test("concurrent calls: fail with the first failure", async () => {
  await rejects(abreast(2, [1, 2, 3], (item) => item === 2 ? Promise.reject(new Error("two")) : Promise.resolve()), {
    message: "two",
  });
});
