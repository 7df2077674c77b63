/** A share of the pools of test/workflow/planner_test.ts, quick enough for every commit. */
import { judgePools } from "./simulation/judge.ts";
import { owners } from "./simulation/play.ts";

for (const name of ["sets", "group"] as const) {
  Deno.test(`planTurn brings pools of all kinds to a good end where a ${name} owner supplies them`, () => {
    judgePools(owners[name], { from: 0, to: 300 });
  });
}
