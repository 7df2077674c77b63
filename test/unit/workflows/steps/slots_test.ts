import { equal } from "node:assert/strict";
import { messageOf } from "../../../../workflows/steps/slots.ts";

const holders = ["a/p/1", "a/p/2", "a/p/3", "b/q/4", "b/q/5"];

function taken(limit: number, ahead?: number): string {
  return messageOf({ desired: undefined }, limit, { holders: holders.slice(0, limit), ahead });
}

Deno.test("messageOf: names three holders of slots, and counts the others", () => {
  equal(taken(5), "All 5 slots of the shared budget are taken, by a/p/1, a/p/2, a/p/3 and 2 more");
  equal(taken(5, 2), `${taken(5)}; 2 pools get a slot first`);
  equal(taken(3, 1), "All 3 slots of the shared budget are taken, by a/p/1, a/p/2, a/p/3; 1 pool gets a slot first");
});

Deno.test("messageOf: names the holder of the only slot", () => {
  equal(taken(1), "The only slot of the shared budget is taken, by a/p/1");
});
