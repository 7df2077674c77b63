import assert from "node:assert/strict";
import { MachineLives } from "../../../../deploy/local/observer/machine_lives.ts";

function lives(): MachineLives {
  let second = 0;
  return new MachineLives(() => `2026-01-01T00:00:${String(second++).padStart(2, "0")}Z`);
}

const at = (second: number): string => `2026-01-01T00:00:${String(second).padStart(2, "0")}Z`;

Deno.test("MachineLives: records when a machine was seen, ordered, first Ready, and deleted", () => {
  const told = lives();
  told.see("machines", new Map([["a", false]]));
  told.see("instances", new Map([["a", true]]));
  told.see("nodes", new Map([["a", false]]));
  told.see("nodes", new Map([["a", true]]));
  told.see("nodes", new Map([["a", false]]));
  told.see("nodes", new Map([["a", true]]));
  told.see("instances", new Map());
  told.see("instances", new Map());
  assert.deepEqual(told.list(), [{ name: "a", seenAt: at(0), orderedAt: at(1), readyAt: at(2), goneAt: at(3) }]);
});

Deno.test("MachineLives: lists machines by the time at which their instance was ordered, and pending machines last", () => {
  const told = lives();
  told.see("machines", new Map([["paper", false], ["late", true], ["early", true]]));
  told.see("instances", new Map([["early", true]]));
  told.see("instances", new Map([["early", true], ["late", true]]));
  assert.deepEqual(told.list().map(({ name }) => name), ["early", "late", "paper"]);
  assert.equal(told.list()[2]?.orderedAt, undefined);
});

Deno.test("MachineLives: records neither orderedAt nor goneAt for a pending machine that is deleted", () => {
  const told = lives();
  told.see("machines", new Map([["paper", false]]));
  told.see("machines", new Map());
  assert.deepEqual(told.list(), [{ name: "paper", seenAt: at(0) }]);
});
