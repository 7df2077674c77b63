/** Ten seeds of the same: which calls are broken off before they are done, which after, and at which reads the worker dies. */
import { rollAmongKills } from "../integration/group_chaos.ts";

for (let seed = 1; seed <= 10; seed++) {
  Deno.test(`K8, K22 a scaling group is rolled while its worker is killed at calls to the cloud, seed ${seed}`, () =>
    rollAmongKills(seed));
}
