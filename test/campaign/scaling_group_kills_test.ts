/**
 * K8, K15, K22: wherever Ostler's worker dies, the final machines are the same, and one machine was ordered for each
 * replacement.
 */
import { rollAmongKills } from "../integration/group_chaos.ts";

Deno.test("K8, K22 scaling group: its machines are replaced while Ostler's worker is killed at calls to the cloud", () =>
  rollAmongKills(1));
