import { equal } from "node:assert/strict";
import { freshLoop, isBehind, nudge, openLoop, stir } from "../../../../workflows/state/loop.ts";
import type { Loop } from "../../../../workflows/state/loop.ts";

const said: { what: string; say: (loop: Loop) => void; behind: boolean }[] = [
  { what: "nothing", say: () => {}, behind: false },
  { what: "what it saw", say: (loop) => stir(loop, "g2"), behind: false },
  { what: "what it saw, twice", say: (loop) => (stir(loop, "g2"), stir(loop, "g2")), behind: false },
  { what: "something else", say: (loop) => stir(loop, "g3"), behind: true },
  { what: "something else and then what it saw", say: (loop) => (stir(loop, "g3"), stir(loop, "g2")), behind: true },
  { what: "that anything changed", say: (loop) => stir(loop), behind: true },
  { what: "what it saw, and a task has ended", say: (loop) => (stir(loop, "g2"), nudge(loop)), behind: true },
  { what: "that a task has ended, and then what it saw", say: (loop) => (nudge(loop), stir(loop, "g2")), behind: true },
];

for (const { what, say, behind } of said) {
  Deno.test(`a round is ${behind ? "" : "not "}behind that was told ${what}`, () => {
    const loop = openLoop(freshLoop(), 0);
    say(loop);
    equal(isBehind(loop, "g2"), behind);
  });
}

Deno.test("a round that saw nothing is behind whatever it was told", () => {
  const loop = openLoop(freshLoop(), 0);
  stir(loop, "g2");
  equal(isBehind(loop, undefined), true);
});
