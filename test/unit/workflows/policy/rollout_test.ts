import { deepEqual, equal, ok } from "node:assert/strict";
import { snapshotOf } from "../../../../activities/pool/snapshot.ts";
import type { PoolSnapshot } from "../../../../workflows/contracts/mod.ts";
import { cases } from "./simulation/cases.ts";
import { chanceFrom, noChance } from "./simulation/chance.ts";
import { judge, judgeOrders } from "./simulation/judge.ts";
import { play } from "./simulation/play.ts";
import type { Case } from "./simulation/play.ts";
import { Promises } from "./simulation/promises.ts";
import type { Run } from "./simulation/run.ts";

// 40 random orders of events take every branch of the planner; test/workflow/planner_test.ts runs more of them.
const orders = 40;

for (const [name, story] of Object.entries(cases)) {
  Deno.test(`planTurn: completes story "${name}"`, () => judge(story, play(story, noChance)));
  Deno.test(`planTurn: completes story "${name}" with random durations`, () => {
    judgeOrders(name, { from: 0, to: orders });
  });
}

Deno.test("planTurn: gets the same snapshot in a simulation as from activities", () => {
  const story = cases["budget 3 of surge 3"] as Case;
  let looks = 0;
  play({ ...story, script: [[2, compare], [4, compare], [7, compare], [11, compare]] }, chanceFrom(3));
  equal(looks, 4);

  function compare(run: Run): void {
    looks += 1;
    const { pool } = run.situation();
    const members = [...run.fleet.machines.values()].map((machine) => run.fleet.memberOf(machine));
    const question = { templateHash: "B", unproven: Object.keys(run.booting), limit: 20 };
    const shown = snapshotOf(members, question);
    deepEqual(listed(pool), listed(shown));
    deepEqual([pool.counts, pool.old.map(({ id }) => id)], [shown.counts, shown.old.map(({ id }) => id)]);
  }
});

for (const [name, budget] of [["five machines, surge 3, one by one", 1], ["budget 3 of surge 3", 3]] as const) {
  Deno.test(`planTurn: uses the whole budget in story "${name}"`, () => {
    const { watch } = play(cases[name] as Case, noChance);
    ok(watch instanceof Promises);
    equal(watch.mostChanging, budget);
  });
}

Deno.test("planTurn: has at least 47 stories", () => ok(Object.keys(cases).length >= 47));

/** Returns the member ids of each group, sorted, because order only matters for old members. */
function listed(
  { old, waiting, joining, stale, leaving, ill }: PoolSnapshot,
): string[][] {
  return [old, waiting, joining, stale, leaving, ill].map((group) => group.map(({ id }) => id).sort());
}
