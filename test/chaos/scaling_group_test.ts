/**
 * Rolls two stages (control planes, then workers) once for each of ten seeds. The seed determines the calls that are
 * interrupted before or after their effect, and the reads at which the worker is killed.
 */
import { rollStagesAmongKills } from "../integration/stage_chaos.ts";

for (let seed = 1; seed <= 10; seed++) {
  Deno.test(
    `fault G15: K8, K22 scaling groups: both stages of a rollout complete while Ostler's worker is killed at calls to the cloud, seed ${seed}`,
    () => rollStagesAmongKills(seed),
  );
}
