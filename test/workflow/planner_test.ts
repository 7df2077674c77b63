/**
 * The planner over its stories in more orders than in unit tests, and over 10,000 pools for each of two owners of
 * machines: machine-controller, and a scaling group with other rules. Pure functions in virtual time, which are here
 * because they take minutes.
 */
import { cases } from "../unit/workflows/policy/simulation/cases.ts";
import { judgeOrders, judgePools } from "../unit/workflows/policy/simulation/judge.ts";
import { owners } from "../unit/workflows/policy/simulation/play.ts";

const pools = 10_000;
const share = 1_000;

for (const name of Object.keys(cases)) {
  Deno.test(`planTurn: completes story "${name}" in more random orders`, () =>
    judgeOrders(name, { from: 40, to: 101 }));
}

for (const name of ["sets", "group"] as const) {
  for (let from = 0; from < pools; from += share) {
    Deno.test(`planTurn: completes pools ${from} to ${from + share - 1} of owner "${name}"`, () => {
      judgePools(owners[name], { from, to: from + share });
    });
  }
}
