/**
 * The fields `onNewChange` and `onProfileChange`: how a newer change affects machines that are in progress for an
 * earlier one, and whether a changed profile counts as a change.
 */
import { deepEqual, equal, notEqual, ok } from "node:assert/strict";
import { setTimeout as pause } from "node:timers/promises";
import { eventually } from "../support/eventually.ts";
import type { FakePool } from "../support/fake_pool.ts";
import { assertOrderly, assertRuns, gateOf } from "../support/pool_checks.ts";
import { onStage } from "../support/workflow_stage.ts";
import type { Handle, Stage } from "../support/workflow_stage.ts";

const test = onStage();

/**
 * Starts a rollout to "image-2", and changes to "image-3" while the first new machine is Ready and waits for its gate.
 */
async function rolloutAtGate(
  stage: Stage,
  onNewChange: "Finish" | "Supersede",
): Promise<{ pool: FakePool; handle: Handle }> {
  const pool = await stage.grownPool({ rules: { onNewChange, gates: [gateOf("EachMachine")] } });
  pool.verdict = (_, machine) => machine === pool.nth(4) ? "Inconclusive" : "Passed";
  pool.change({ image: "image-2" });
  const handle = await stage.rollOut(pool);
  await eventually("a gate asked", () => pool.count("awaitGates") === 1);
  pool.change({ image: "image-3" });
  await stage.tell(pool);
  await eventually("the newer secrets", () => pool.published?.revision === 3);
  return { pool, handle };
}

test("onNewChange: Finish completes machines of the earlier change before it begins the newer one", async (stage) => {
  const { pool, handle } = await rolloutAtGate(stage, "Finish");
  await stage.sees(pool, "the newer change", ({ target }) => target?.image === "image-3");
  equal(pool.count("ensureMachineAdmitted"), 1);
  pool.verdict = () => "Passed";
  pool.touch();
  const { joins } = await handle.result();
  equal(joins[0]?.machine, pool.nth(4));
  assertRuns(pool, "image-3");
  assertOrderly(pool);
});

test("onNewChange: Supersede drops the machines in progress of the earlier change, and begins the newer one at once", async (stage) => {
  const { pool, handle } = await rolloutAtGate(stage, "Supersede");
  const { joins } = await handle.result();
  equal(joins.some(({ machine }) => machine === pool.nth(4)), false);
  assertRuns(pool, "image-3");
  assertOrderly(pool);
});

test("onNewChange: Supersede evaluates the gates of a machine again when its abandoned change is desired again", async (stage) => {
  const pool = await stage.grownPool({ rules: { gates: [gateOf("EachMachine")] } });
  pool.fate = (nth) => nth === 4 ? "joins" : "registered";
  pool.verdict = () => "Inconclusive";
  pool.change({ image: "image-2" });
  const handle = await stage.rollOut(pool);
  await eventually("a gate asked", () => pool.count("awaitGates") === 1);
  for (const image of ["image-3", "image-2"]) {
    pool.change({ image });
    await stage.tell(pool);
    await stage.sees(pool, image, ({ target }) => target?.image === image);
    // While "image-3" is desired, the machine to be replaced is released; a repeated signal for "image-2" cannot undo
    // that.
    await eventually("no leaving machine", () => !pool.machines.some(({ name }) => name === pool.nth(1)));
  }
  await eventually("the gate asked again", () => pool.subjects("awaitGates").length === 2);
  deepEqual(pool.subjects("awaitGates"), [pool.nth(4), pool.nth(4)]);
  await pause(500);
  // While "image-3" was desired, the machine with "image-2" was as outdated as the other three, and any of the four
  // could be replaced.
  ok(pool.machines.filter(({ set, leaving }) => set.image === "image-1" && !leaving).length >= 2);
  Object.assign(pool, { verdict: () => "Passed" });
  pool.mend();
  await handle.result();
  assertRuns(pool, "image-2");
  assertOrderly(pool);
});

test("onProfileChange: Roll makes a changed profile a rollout like any other", async (stage) => {
  const pool = await stage.grownPool({ rules: { onProfileChange: "Roll" } });
  const before = pool.published?.digest;
  pool.profileVersion = 2;
  const result = await (await stage.rollOut(pool)).result();
  deepEqual([result.outcome, result.replaced, pool.numbers()], ["Converged", 3, [4, 5, 6]]);
  notEqual(pool.published?.digest, before);
  ok(pool.template.stamp);
  assertOrderly(pool);
});

test("onProfileChange: Roll touches nothing when the profile is unchanged", async (stage) => {
  const pool = await stage.grownPool({ rules: { onProfileChange: "Roll" } });
  pool.profileVersion = 2;
  await (await stage.rollOut(pool)).result();
  pool.calls.length = 0;
  equal((await (await stage.rollOut(pool)).result()).outcome, "Converged");
  deepEqual([pool.writes(), pool.numbers()], [[], [4, 5, 6]]);
});

test("onProfileChange: Roll rolls a profile that is applied again after it was reverted during its rollout", async (stage) => {
  const pool = await stage.grownPool({ rules: { onProfileChange: "Roll" } });
  pool.fate = (nth) => nth === 4 ? "registered" : "joins";
  pool.profileVersion = 2;
  const handle = await stage.rollOut(pool);
  await eventually("a join under way", () => pool.count("awaitMachinesJoined") === 1);
  pool.profileVersion = 1;
  await stage.tell(pool);
  await handle.result();
  // Machines of revision 2 have booted with profile version 2, which was reverted, and do not count as converged.
  deepEqual(pool.machines.map(({ set }) => set.revision), [3, 3, 3]);
  pool.calls.length = 0;
  pool.profileVersion = 2;
  const { outcome, replaced } = await (await stage.rollOut(pool)).result();
  deepEqual([outcome, replaced, pool.count("ensureTemplateStamped")], ["Converged", 3, 1]);
  assertOrderly(pool);
});

test("onProfileChange: NewMachinesOnly publishes a changed profile and replaces no machine", async (stage) => {
  const pool = await stage.grownPool({ rules: { onProfileChange: "NewMachinesOnly" } });
  const before = pool.published?.digest;
  pool.profileVersion = 2;
  equal((await (await stage.rollOut(pool)).result()).replaced, 0);
  notEqual(pool.published?.digest, before);
  deepEqual([pool.writes(), pool.numbers()], [[], [1, 2, 3]]);
});

test("onProfileChange: NewMachinesOnly reports a changed CA bundle when it is published, and replaces no machine", async (stage) => {
  const pool = await stage.grownPool({ rules: { onProfileChange: "NewMachinesOnly" } });
  equal(pool.reports.at(-1)?.trusted, undefined);
  pool.cas = ["aaaaaaaaaaaaaaaa", "bbbbbbbbbbbbbbbb"];
  pool.profileVersion = 2; // a changed CA bundle changes the files of most profiles
  equal((await (await stage.rollOut(pool)).result()).replaced, 0);
  deepEqual(pool.reports.at(-1)?.trusted, { cas: pool.cas });
  deepEqual([pool.writes(), pool.numbers()], [[], [1, 2, 3]]);
});

test("onProfileChange: a rollback after failed machines restores the previous profile and the previous template", async (stage) => {
  const pool = await stage.grownPool({ rules: { onProfileChange: "Roll", onFailure: "Rollback" } });
  Object.assign(pool.rules.join, { attempts: 1, instance: 1000, address: 1000, registered: 1000 });
  pool.fate = (nth) => nth === 4 || nth === 5 ? "registered" : "joins";
  const before = pool.published?.digest;
  pool.profileVersion = 2;
  const result = await (await stage.rollOut(pool)).result();
  deepEqual([result.outcome, pool.numbers(), pool.profileVersion], ["RolledBack", [1, 2, 3], 1]);
  equal(pool.published?.digest, before);
  assertOrderly(pool);
});
