/** The field `onImageChange`: with InPlace, a new image does not replace machines. */
import { deepEqual, equal, match, ok } from "node:assert/strict";
import { eventually } from "../support/eventually.ts";
import { assertOrderly } from "../support/pool_checks.ts";
import { onStage, testDeadlines } from "../support/workflow_stage.ts";

const test = onStage();

test("onImageChange: InPlace replaces no machine for a new image, and Ostler checks before any step whether machines can stay", async (stage) => {
  const pool = await stage.grownPool({ rules: { onImageChange: "InPlace" } });
  const asked: number[] = [];
  pool.keeping = () => {
    asked.push(pool.count("ensureMachineAdmitted"));
    if (asked.length < 3) return { outcome: asked.length === 1 ? "Kept" : "Pending" };
    // machine-controller has reacted to the change: the machines now have the desired template.
    pool.change({ image: "image-1" });
    return { outcome: "Pending" };
  };
  pool.change({ image: "image-2" });
  const result = await (await stage.rollOut(pool)).result();
  deepEqual([result.outcome, result.replaced, pool.numbers()], ["Converged", 0, [1, 2, 3]]);
  deepEqual([pool.writes().filter((call) => !call.startsWith("ensureMachinesKept")), asked], [[], [0, 0, 0]]);
});

test("onImageChange: InPlace halts when machines cannot stay, and replaces none", async (stage) => {
  const pool = await stage.grownPool({ rules: { onImageChange: "InPlace" } });
  pool.keeping = () => ({ outcome: "Refused", message: "its template changes in more than the image" });
  pool.change({ image: "image-2" });
  const handle = await stage.rollOut(pool);
  const { reason } = await stage.sees(pool, "a halt", ({ phase }) => phase === "Halted");
  equal(reason, "ReplacementRefused");
  // The run checks again several times, and the result stays the same.
  await eventually("some more looks", () => pool.count("ensureMachinesKept") > 4);
  deepEqual(pool.machines.filter(({ leaving }) => leaving).length, 0);
  equal(pool.count("ensureMachineAdmitted") + pool.count("ensureVictimMarked"), 0);
  const told = pool.events.filter((event) => event.reason === "ReplacementRefused");
  equal(told.length, 1);
  match(told[0]?.message ?? "", /more than the image/);
  pool.change({ image: "image-1" });
  await stage.tell(pool);
  deepEqual([(await handle.result()).outcome, pool.numbers()], ["Converged", [1, 2, 3]]);
});

test("onImageChange: ReplaceIfRefused replaces machines that cannot stay, and reports the cause once", async (stage) => {
  const pool = await stage.grownPool({ rules: { onImageChange: "ReplaceIfRefused" } });
  pool.keeping = () => ({ outcome: "Refused", message: "its template changes in more than the image" });
  pool.change({ image: "image-2" });
  const result = await (await stage.rollOut(pool)).result();
  deepEqual([result.outcome, result.replaced], ["Converged", 3]);
  equal(pool.count("ensureMachinesKept"), 1);
  equal(pool.events.filter(({ reason }) => reason === "InPlaceRefused").length, 1);
  assertOrderly(pool);
});

test("onImageChange: by default the rollout replaces machines without a check whether they can stay", async (stage) => {
  const pool = await stage.grownPool({});
  pool.change({ image: "image-2" });
  equal((await (await stage.rollOut(pool)).result()).replaced, 3);
  ok(pool.count("ensureMachinesKept") === 0);
});

test("onImageChange: InPlace halts while machine-controller does not react in time, replaces nothing, and continues later", async (stage) => {
  const pool = await stage.grownPool({ rules: { onImageChange: "InPlace" } });
  pool.keeping = () => ({ outcome: "Pending" });
  pool.change({ image: "image-2" });
  const handle = await stage.rollOut(pool, { deadlines: { ...testDeadlines, settle: 1_000 } });
  await stage.stands(handle, "Halted", "SettleExpired");
  equal(pool.count("ensureMachineAdmitted") + pool.count("ensureVictimMarked"), 0);
  pool.change({ image: "image-1" });
  await stage.tell(pool);
  deepEqual([(await handle.result()).outcome, pool.numbers()], ["Converged", [1, 2, 3]]);
});
