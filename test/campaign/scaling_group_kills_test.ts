/** K8, K15, K22: wherever a worker dies, the same machines stand in the end, and no more of them were made. */
import { rollAmongKills } from "../integration/group_chaos.ts";

Deno.test("K8, K22 a scaling group is rolled while its worker is killed at calls to the cloud", () =>
  rollAmongKills(1));
