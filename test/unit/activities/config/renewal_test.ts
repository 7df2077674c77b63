import { equal, ok } from "node:assert/strict";
import { dueAt, isLongEnough, lookEveryMs } from "../../../../activities/config/renewal.ts";

const lives = [600, 601, 3600, 5400, 86_400, 7 * 86_400, 90 * 86_400];

/** The part of a life that is over when credentials are renewed, in the worst case: they fell due right after a look. */
function partUsed(
  { asked, given = asked, missedLooks }: { asked: number; given?: number; missedLooks: number },
): number {
  const due = dueAt(new Date(0), new Date(given * 1000)).getTime();
  return (due + (missedLooks + 1) * lookEveryMs(asked)) / (given * 1000);
}

Deno.test("credentials have more than half of their life left when they are renewed, also after two missed looks", () => {
  for (const asked of lives) {
    for (const missedLooks of [0, 1, 2]) {
      const used = partUsed({ asked, missedLooks });
      ok(used < 1 / 2, `of ${asked} seconds ${used} are used after ${missedLooks} missed looks`);
    }
  }
});

Deno.test("a twenty-fourth of a life is left for the renewal itself, whatever the life", () => {
  for (const asked of lives) ok(1 / 2 - partUsed({ asked, missedLooks: 2 }) >= 1 / 24 - 1e-9, String(asked));
});

Deno.test("the shortest life that is taken has half of it left, too, after two missed looks", () => {
  for (const asked of lives) {
    const given = asked * 3 / 4;
    ok(isLongEnough(given, asked));
    ok(partUsed({ asked, given, missedLooks: 2 }) <= 1 / 2 + 1e-9, String(asked));
    equal(isLongEnough(given - 1, asked), false);
  }
});

Deno.test("lookEveryMs gives whole seconds, an hour at most", () => {
  equal(lookEveryMs(600), 25_000);
  equal(lookEveryMs(601), 25_000);
  equal(lookEveryMs(86_400), 3_600_000);
  equal(lookEveryMs(90 * 86_400), 3_600_000);
});
