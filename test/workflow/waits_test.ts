/**
 * Activities that wait have slots of their own, so that pools that wait for a day do not delay the steps of other
 * pools.
 */
import { deepEqual, equal, ok } from "node:assert/strict";
import { eventually } from "../support/eventually.ts";
import { onStage } from "../support/workflow_stage.ts";

const test = onStage({ slots: { steps: 2, waits: 2 } });

test("waits: a step runs at once even if every slot for waits is taken", async (stage) => {
  const waiting = [await stage.grownPool({ replicas: 1 }), await stage.grownPool({ replicas: 1 })];
  const handles = [];
  for (const pool of waiting) {
    pool.fate = () => "registered";
    pool.change({ image: "image-2" });
    const handle = await stage.rollOut(pool, { deadlines: { settle: 60_000, registered: 60_000, ready: 60_000 } });
    await stage.sees(pool, "a machine that joins", ({ underway }) => underway.length === 1);
    handles.push(handle);
  }
  const third = stage.pool({ replicas: 1 });
  const begun = Date.now();
  await stage.rollOut(third);
  await stage.sees(third, "its config published", () => third.count("publishConfig") === 1);
  await stage.sees(third, "its machines read", () => third.count("readPool") > 0);
  ok(Date.now() - begun < 10_000);
  for (const handle of handles) await handle.cancel();
  await stage.client.workflow.getHandle(third.holder).cancel();
});

test("waits: only activities that wait run on the task queue for waits", async (stage) => {
  const pool = await stage.grownPool({ replicas: 2 });
  pool.change({ image: "image-2" });
  const handle = await stage.rollOut(pool);
  await handle.result();
  const { events } = await stage.client.workflow.getHandle(pool.holder).fetchHistory();
  const scheduled = (events ?? []).flatMap(({ activityTaskScheduledEventAttributes: each }) => each ?? []);
  const byQueue = Map.groupBy(scheduled, ({ taskQueue }) => String(taskQueue?.name));
  deepEqual([...byQueue.keys()].sort(), ["ostler", "ostler-waits"]);
  for (const { activityType, taskQueue } of scheduled) {
    equal(taskQueue?.name, activityType?.name?.startsWith("await") ? "ostler-waits" : "ostler");
  }
});

test("waits: the rollout continues when the cloud no longer protects a machine, however late that is, although no event reports it", async (stage) => {
  const pool = await stage.grownPool({ replicas: 1 });
  const [machine] = pool.machines;
  ok(machine);
  machine.isProtected = true;
  pool.change({ image: "image-2" });
  const settle = 300;
  const handle = await stage.rollOut(pool, { deadlines: { settle, recheck: 3_600_000 } });
  await stage.sees(pool, "a protected machine", ({ reason }) => reason === "ProtectedRemain");
  const blocked = Date.now();
  await eventually("twice the settle deadline to pass", () => Date.now() > blocked + 2 * settle);
  machine.isProtected = false;
  equal((await handle.result()).outcome, "Converged");
});

test("waits: a dead worker is detected within 10 seconds, even in a short step", async (stage) => {
  const pool = await stage.grownPool({ replicas: 2 });
  pool.change({ image: "image-2" });
  await (await stage.rollOut(pool)).result();
  const { events } = await stage.client.workflow.getHandle(pool.holder).fetchHistory();
  const scheduled = (events ?? []).flatMap(({ activityTaskScheduledEventAttributes: each }) => each ?? []);
  ok(scheduled.some(({ activityType }) => !activityType?.name?.startsWith("await")));
  for (const { activityType, heartbeatTimeout } of scheduled) {
    equal(Number(heartbeatTimeout?.seconds), 10, String(activityType?.name));
  }
});
