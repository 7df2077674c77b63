/**
 * The planner over its stories in more orders than unit tests play, and over 10,000 pools for each of two owners of
 * machines: machine-controller, and a scaling group whose rules are others. Pure functions in virtual time; here and not
 * among the unit tests for the minutes that they take.
 */
import { cases } from "../unit/workflows/policy/simulation/cases.ts";
import { judgeOrders, judgePools } from "../unit/workflows/policy/simulation/judge.ts";
import { owners } from "../unit/workflows/policy/simulation/play.ts";

const pools = 10_000;
const share = 1_000;

for (const name of Object.keys(cases)) {
  Deno.test(`planTurn brings to a good end by more chance: ${name}`, () => judgeOrders(name, { from: 40, to: 101 }));
}

for (const name of ["sets", "group"] as const) {
  for (let from = 0; from < pools; from += share) {
    Deno.test(`planTurn brings pools ${from} to ${from + share - 1} of an owner of a ${name} to a good end`, () => {
      judgePools(owners[name], { from, to: from + share });
    });
  }
}
