import { equal, ok } from "node:assert/strict";
import { dueAt, isLongEnough, lookEveryMs } from "../../../../activities/config/renewal.ts";

const lives = [600, 601, 3600, 5400, 86_400, 7 * 86_400, 90 * 86_400];

const pools = Array.from({ length: 1000 }, (_, nth) => `fleet/pool-${nth}`);

/** Milliseconds after which credentials of so many seconds are due. */
function dueOf(pool: string, seconds: number): number {
  return dueAt(pool, { issuedAt: new Date(0), expiresAt: new Date(seconds * 1000) }).getTime();
}

/** The part of a life that is over when credentials are renewed, in the worst case: they fell due right after a look. */
function partUsed(
  { asked, given = asked, missedLooks }: { asked: number; given?: number; missedLooks: number },
): number {
  const due = Math.max(...pools.map((pool) => dueOf(pool, given)));
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

Deno.test("a thousand pools made at once are not due at once: no hour of a day's life has more than a third of them", () => {
  const hours = pools.map((pool) => Math.floor(dueOf(pool, 86_400) / 3_600_000));
  for (const hour of new Set(hours)) ok(hours.filter((other) => other === hour).length < 333, `hour ${hour}`);
  equal(dueOf("fleet/a", 86_400), dueOf("fleet/a", 86_400));
});
