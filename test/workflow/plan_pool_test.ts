/** A plan that somebody asks a worker for. */
import { deepEqual, equal } from "node:assert/strict";
import { engineOf } from "../../cli/connect/temporal_engine.ts";
import { onStage } from "../support/workflow_stage.ts";

const test = onStage();

test("planPool plans what is wanted now, changes nothing, and is one run for all who ask at a time", async (stage) => {
  const pool = await stage.grownPool();
  pool.change({ image: "image-2" });
  const engine = engineOf(stage.client, {
    ...{ taskQueue: "ostler", cluster: "", address: "", namespace: "default", access: {} },
  });
  const before = pool.count("ensureMachineAdmitted");
  const [one, other] = await Promise.all([engine.plan(pool.ref), engine.plan(pool.ref)]);
  deepEqual(one, other);
  equal(one?.waves.reduce((sum, { size }) => sum + size, 0), 3);
  equal(pool.count("ensureMachineAdmitted"), before);
});
