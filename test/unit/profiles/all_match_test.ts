import { equal, ok } from "node:assert/strict";
import { getHeapStatistics } from "node:v8";
import { allMatch, type Processor } from "../../../profiles/parameter.ts";

/** Completes a match only at the `nth` attempt; each attempt gets `ms` milliseconds of processor time. */
function slow(nth: number, ms: number): Processor & { tried: number } {
  const late = Object.assign(new Error("Script execution timed out"), { code: "ERR_SCRIPT_EXECUTION_TIMEOUT" });
  return {
    tried: 0,
    run(): boolean {
      this.tried += 1;
      if (this.tried < nth) throw late;
      return true;
    },
    usedMs(): number {
      return this.tried * ms;
    },
  };
}

Deno.test("allMatch: checks the whole of each text", () => {
  equal(allMatch("[a-z]+|x y", ["abc", "x y"]), true);
  equal(allMatch("[a-z]+", ["abc", "ab1"]), false);
  equal(allMatch("(", ["abc"]), false);
});

Deno.test("allMatch: retries a match that timed out while other processes used the processor", () => {
  const processor = slow(4, 5);
  equal(allMatch("a", ["a"], processor), true);
  equal(processor.tried, 4);
});

Deno.test("allMatch: returns false for a pattern that used up its processor time, or never got any", () => {
  const [busy, starved] = [slow(4, 60), slow(Infinity, 0)];
  equal(allMatch("a", ["a"], busy), false);
  equal(busy.tried, 1);
  equal(allMatch("a", ["a"], starved), false);
  equal(starved.tried, 20);
});

Deno.test("allMatch: stops a pattern that would backtrack without end, and returns false", () => {
  equal(allMatch("(a+)+", [`${"a".repeat(60)}b`]), false);
});

Deno.test("allMatch: does not create a V8 context for each match", () => {
  const worlds = (): number => getHeapStatistics().number_of_native_contexts;
  const before = worlds();
  for (let nth = 0; nth < 20; nth++) equal(allMatch("[a-z]+", ["abc", nth % 2 ? "1" : "x"]), nth % 2 === 0);
  ok(worlds() <= before + 1);
});
