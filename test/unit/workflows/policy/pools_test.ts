/** A subset of the pools of test/workflow/planner_test.ts that is quick enough for every commit. */
import { judgePools } from "./simulation/judge.ts";
import { owners } from "./simulation/play.ts";

for (const name of ["sets", "group"] as const) {
  Deno.test(`planTurn: completes random pools of owner "${name}"`, () => {
    judgePools(owners[name], { from: 0, to: 300 });
  });
}
