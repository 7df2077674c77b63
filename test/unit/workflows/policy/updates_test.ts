import { deepEqual } from "node:assert/strict";
import type { Member } from "../../../../workflows/contracts/mod.ts";
import { planTurn } from "../../../../workflows/policy/plan_turn.ts";
import { supplierOf } from "../../../../workflows/policy/supplier.ts";
import { members, ours, situationOf, told } from "./simulation/picture.ts";
import type { Difference } from "./simulation/picture.ts";

const inPlace: Difference = { desired: { surge: 0 }, situation: { supplier: supplierOf("NodePool") } };
const staged: Partial<Member> = { staged: true };

function steps(pool: Member[], difference: Difference = {}): string[] {
  const situation = { ...inPlace.situation, ...difference.situation };
  const desired = { ...inPlace.desired, replicas: pool.length };
  return planTurn(situationOf(pool, { ...difference, desired, situation })).steps.map(told);
}

Deno.test("planTurn: uncordons a node of an abandoned change while the node fetches the next image", () => {
  const pool = members("old", [1, "Ready", { ...ours, id: "cordoned" }], [2, "Ready"]);
  deepEqual(steps(pool), ["unmark cordoned", "stage cordoned", "stage old Ready 1", "stage old Ready 2"]);
});

Deno.test("planTurn: uncordons a node of an abandoned change when another node uses the budget", () => {
  const pool = members("old", [1, "Ready", { ...ours, id: "cordoned" }], [1, "Ready", { ...staged, id: "staged" }]);
  deepEqual(steps(pool), ["unmark cordoned", "update staged", "stage cordoned"]);
});

Deno.test("planTurn: updates a cordoned node with a staged image if the budget allows", () => {
  const pool = members("old", [2, "Ready", { ...ours, ...staged }]);
  deepEqual(steps(pool), ["unmark old Ready 2", "update old Ready 1"]);
});

Deno.test("planTurn: keeps a node cordoned whose update failed", () => {
  const pool = members("old", [1, "Ready", { ...ours, kept: "Failed", id: "failed" }], [1, "Ready"]);
  deepEqual(steps(pool), ["stage old Ready 1"]);
});
