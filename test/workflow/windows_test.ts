/** The field `windows`: outside the windows no replacement starts, and machines in progress finish. */
import { deepEqual, equal, ok } from "node:assert/strict";
import { assertOrderly, assertRuns, inMs } from "../support/pool_checks.ts";
import { eventually } from "../support/eventually.ts";
import { onStage } from "../support/workflow_stage.ts";

const test = onStage();

const [minute, hour] = [60_000, 3_600_000];

test("windows: no replacement starts outside a window, and the status shows when the next window opens", async (stage) => {
  const from = inMs(hour);
  const pool = await stage.grownPool({ rules: { windows: [{ from, to: from + hour }] } });
  pool.change({ image: "image-2" });
  const handle = await stage.rollOut(pool);
  const { until } = await stage.stands(handle, "Rolling", "OutsideWindow");
  deepEqual([Date.parse(until ?? ""), pool.count("ensureMachineAdmitted")], [from, 0]);
  await eventually("a report of the closed window", () => pool.reports.at(-1)?.blockedReason === "OutsideWindow");
  pool.rules.windows = [{ from: inMs(-hour), to: inMs(hour) }];
  await stage.tell(pool);
  equal((await handle.result()).replaced, 3);
  assertOrderly(pool);
});

test("windows: replacements begin when a window opens, without an event", async (stage) => {
  const pool = await stage.grownPool({ replicas: 1 });
  let from = Infinity;
  pool.before["readDesired"] = () => {
    delete pool.before["readDesired"];
    from = inMs(2000);
    pool.rules.windows = [{ from, to: inMs(hour) }];
  };
  const early: string[] = [];
  pool.before["ensureMachineAdmitted"] = () => void (Date.now() < from && early.push("admitted before the window"));
  pool.change({ image: "image-2" });
  equal((await (await stage.rollOut(pool)).result()).replaced, 1);
  ok(pool.reports.some(({ blockedReason }) => blockedReason === "OutsideWindow"));
  deepEqual(early, []);
  assertOrderly(pool);
});

test("windows: a replacement in progress finishes after its window closes, and no other replacement starts", async (stage) => {
  const pool = await stage.grownPool({ rules: { windows: [{ from: inMs(-hour), to: inMs(hour) }] } });
  pool.fate = () => "registered";
  pool.change({ image: "image-2" });
  const handle = await stage.rollOut(pool);
  await eventually("an admission", () => pool.count("ensureMachineAdmitted") === 1);
  pool.rules.windows = [{ from: inMs(-hour), to: inMs(-minute) }, { from: inMs(hour), to: inMs(2 * hour) }];
  await stage.tell(pool);
  pool.mend();
  await eventually("the replacement in progress to finish", () => pool.find(pool.nth(1)) === undefined);
  await stage.stands(handle, "Rolling", "OutsideWindow");
  deepEqual(pool.images(), ["image-1", "image-1", "image-2", "image-2"]); // the last machine is held and has not booted
  deepEqual([pool.count("ensureVictimReleased"), pool.count("ensureMachineAdmitted")], [1, 1]);
  deepEqual(pool.violations, []);
  await handle.cancel();
});

test("windows: a replacement does not start when its typical duration exceeds the rest of the window", async (stage) => {
  const pool = await stage.grownPool({ rules: { windows: [{ from: inMs(-hour), to: inMs(10 * minute) }] } });
  pool.rollout.usual = { join: [1800], leave: [600] };
  pool.change({ image: "image-2" });
  const handle = await stage.rollOut(pool);
  const { message } = await stage.stands(handle, "Rolling", "WindowTooShort");
  ok(message.length > 20, message);
  equal(pool.count("ensureMachineAdmitted"), 0);
  pool.rules.windows = [{ from: inMs(-hour), to: inMs(5 * hour) }];
  await stage.tell(pool);
  await handle.result();
  assertRuns(pool, "image-2");
});

test("windows: do not delay a scale-up: a machine of the same revision needs no admission", async (stage) => {
  const pool = await stage.grownPool({ rules: { windows: [{ from: inMs(hour), to: inMs(2 * hour) }] } });
  pool.joinOnceAwaited();
  pool.change({ replicas: 4 });
  equal((await (await stage.rollOut(pool)).result()).joins.length, 1);
  deepEqual(pool.writes(), []);
});
