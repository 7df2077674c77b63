/**
 * Ten seeds of the same: the calls that are interrupted before or after their effect, and the reads at which the worker
 * dies.
 */
import { rollAmongKills } from "../integration/group_chaos.ts";

for (let seed = 1; seed <= 10; seed++) {
  Deno.test(`K8, K22 scaling group: is rolled while its worker is killed at calls to the cloud, seed ${seed}`, () =>
    rollAmongKills(seed));
}
