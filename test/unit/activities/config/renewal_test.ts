import { equal, ok } from "node:assert/strict";
import { dueAt, isLongEnough, lookEveryMs } from "../../../../activities/config/renewal.ts";

const lives = [600, 601, 3600, 5400, 86_400, 7 * 86_400, 90 * 86_400];

const pools = Array.from({ length: 1000 }, (_, nth) => `fleet/pool-${nth}`);

/** Returns the milliseconds after which credentials with this lifetime in seconds are due. */
function dueOf(pool: string, seconds: number): number {
  return dueAt(pool, { issuedAt: new Date(0), expiresAt: new Date(seconds * 1000) }).getTime();
}

/**
 * Returns the part of the lifetime that is over at the renewal in the worst case: due right after a scheduled check.
 */
function partUsed(
  { asked, given = asked, missedLooks }: { asked: number; given?: number; missedLooks: number },
): number {
  const due = Math.max(...pools.map((pool) => dueOf(pool, given)));
  return (due + (missedLooks + 1) * lookEveryMs(asked)) / (given * 1000);
}

Deno.test("renewal: a token keeps more than half of its lifetime until it is renewed, also after two missed checks", () => {
  for (const asked of lives) {
    for (const missedLooks of [0, 1, 2]) {
      const used = partUsed({ asked, missedLooks });
      ok(used < 1 / 2, `Used ${used} of ${asked} s after ${missedLooks} missed checks`);
    }
  }
});

Deno.test("renewal: happens at least a twenty-fourth of the lifetime before half of it is over, also after two missed checks", () => {
  for (const asked of lives) ok(1 / 2 - partUsed({ asked, missedLooks: 2 }) >= 1 / 24 - 1e-9, String(asked));
});

Deno.test("renewal: a token with three quarters of the requested lifetime keeps half of it until it is renewed, also after two missed checks", () => {
  for (const asked of lives) {
    const given = asked * 3 / 4;
    ok(isLongEnough(given, asked));
    ok(partUsed({ asked, given, missedLooks: 2 }) <= 1 / 2 + 1e-9, String(asked));
    equal(isLongEnough(given - 1, asked), false);
  }
});

Deno.test("lookEveryMs: returns an interval in whole seconds, at most an hour", () => {
  equal(lookEveryMs(600), 25_000);
  equal(lookEveryMs(601), 25_000);
  equal(lookEveryMs(86_400), 3_600_000);
  equal(lookEveryMs(90 * 86_400), 3_600_000);
});

Deno.test("renewal: with a thousand pools made at the same time, less than a third are due in the same hour", () => {
  const hours = pools.map((pool) => Math.floor(dueOf(pool, 86_400) / 3_600_000));
  for (const hour of new Set(hours)) ok(hours.filter((other) => other === hour).length < 333, `hour ${hour}`);
  equal(dueOf("fleet/a", 86_400), dueOf("fleet/a", 86_400));
});
