/** Stories to record: rollouts of control planes. */
import { budgetOf } from "../support/pool_checks.ts";
import type { Handle, Stage } from "../support/workflow_stage.ts";

/**
 * Stories by name: each starts a run, brings it to a point from which it ends without further input, and returns it.
 */
export const controlPlanes: Record<string, (stage: Stage) => Promise<Handle>> = {
  "control_planes_in_doubt_promoted": async (stage) => {
    const pool = await stage.grownPool({ rules: { budget: budgetOf(1, { cluster: 1 }) } });
    const doubts = [{ says: 'member "cp-9" does not answer: timeout' }];
    pool.etcd = { seats: [], quorum: { needed: 2, well: 2 }, doubts };
    pool.change({ image: "image-2" });
    const handle = await stage.rollOut(pool);
    await stage.stands(handle, "Rolling", "EtcdInDoubt");
    await stage.ask(pool, "promote", { by: "somebody", reason: "it is scrapped" });
    return handle;
  },
  "control_plane_repaired": async (stage) => {
    const pool = await stage.grownPool({ rules: { budget: budgetOf(1, { cluster: 1 }) } });
    pool.etcd = { seats: [], quorum: { needed: 2, well: 3 }, doubts: [] };
    pool.sicken(2);
    return await stage.rollOut(pool);
  },
};
