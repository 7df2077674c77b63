import { equal } from "node:assert/strict";
import { freshLoop, isBehind, nudge, openLoop, stir } from "../../../../workflows/state/loop.ts";
import type { Loop } from "../../../../workflows/state/loop.ts";

const said: { what: string; say: (loop: Loop) => void; behind: boolean }[] = [
  { what: "no event", say: () => {}, behind: false },
  { what: "a signal for the read state", say: (loop) => stir(loop, "g2"), behind: false },
  { what: "two signals for the read state", say: (loop) => (stir(loop, "g2"), stir(loop, "g2")), behind: false },
  { what: "a signal for another state", say: (loop) => stir(loop, "g3"), behind: true },
  {
    what: "signals for another state and the read state",
    say: (loop) => (stir(loop, "g3"), stir(loop, "g2")),
    behind: true,
  },
  { what: "a signal without a state", say: (loop) => stir(loop), behind: true },
  {
    what: "a signal for the read state and the end of a task",
    say: (loop) => (stir(loop, "g2"), nudge(loop)),
    behind: true,
  },
  {
    what: "the end of a task and a signal for the read state",
    say: (loop) => (nudge(loop), stir(loop, "g2")),
    behind: true,
  },
];

for (const { what, say, behind } of said) {
  Deno.test(`isBehind: returns ${behind} after ${what}`, () => {
    const loop = openLoop(freshLoop(), 0);
    say(loop);
    equal(isBehind(loop, "g2"), behind);
  });
}

Deno.test("isBehind: returns true when the reconcile did not read the desired state", () => {
  const loop = openLoop(freshLoop(), 0);
  stir(loop, "g2");
  equal(isBehind(loop, undefined), true);
});
