/**
 * Simulates each story of the planner (a pool and its events) with more random durations than the unit tests do, and
 * 10,000 random pools for each of two owners of machines: machine-controller and a scaling group. The simulations are
 * pure functions in virtual time, but take minutes, so they are not unit tests.
 */
import { cases } from "../unit/workflows/policy/simulation/cases.ts";
import { judgeOrders, judgePools } from "../unit/workflows/policy/simulation/judge.ts";
import { owners } from "../unit/workflows/policy/simulation/play.ts";

const pools = 10_000;
const share = 1_000;

for (const name of Object.keys(cases)) {
  Deno.test(`planTurn: completes story "${name}" with random durations, seeds 40 to 100`, () =>
    judgeOrders(name, { from: 40, to: 101 }));
}

for (const name of ["sets", "group"] as const) {
  for (let from = 0; from < pools; from += share) {
    Deno.test(`planTurn: completes pools ${from} to ${from + share - 1} of owner "${name}"`, () => {
      judgePools(owners[name], { from, to: from + share });
    });
  }
}
