/** A plan that a user requests from a worker. */
import { deepEqual, equal } from "node:assert/strict";
import { engineOf } from "../../cli/connect/temporal_engine.ts";
import { onStage } from "../support/workflow_stage.ts";

const test = onStage();

test("planPool: plans the current desired state, changes nothing, and is one run for concurrent callers", async (stage) => {
  const pool = await stage.grownPool();
  pool.change({ image: "image-2" });
  const engine = engineOf(stage.client, {
    ...{ taskQueue: "ostler", cluster: "", address: "", namespace: "default", access: {} },
    uid: () => Promise.resolve(""),
  });
  const before = pool.count("ensureMachineAdmitted");
  const [one, other] = await Promise.all([engine.plan(pool.ref), engine.plan(pool.ref)]);
  deepEqual(one, other);
  equal(one?.waves.reduce((sum, { size }) => sum + size, 0), 3);
  equal(pool.count("ensureMachineAdmitted"), before);
});
