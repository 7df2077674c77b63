import { deepEqual, equal } from "node:assert/strict";
import { Sight } from "../../../../activities/kube/polling.ts";

const since = 1_000_000;

function sightOf(heartbeatDetails?: unknown, now = since): Sight {
  return new Sight({ heartbeatDetails, scheduledTimestampMs: since }, now);
}

Deno.test("Sight counts looks that follow each other as seen", () => {
  const sight = sightOf();
  deepEqual([30, 75, 164].map((seconds) => sight.looked(since + seconds * 1000)), [0, 0, 0]);
});

Deno.test("Sight takes a long pause for time that nobody saw, and gives everybody a while to report again", () => {
  const sight = sightOf();
  equal(sight.looked(since + 600_000), 630_000);
  equal(sight.looked(since + 601_000), 0);
});

Deno.test("Sight goes on where the try before it stopped", () => {
  const sight = sightOf({ waitsFor: "x", lookedAt: since + 3_600_000 }, since + 3_601_000);
  equal(sight.looked(since + 3_601_000), 0);
  deepEqual(sight.noted("y"), { waitsFor: "y", lookedAt: since + 3_601_000 });
});

Deno.test("Sight begins when it was asked for where no worker began for long, also after text, as earlier versions noted", () => {
  const late = since + 3_600_000;
  for (const details of [undefined, "1 pods remain", 7]) equal(sightOf(details, late).looked(late), 3_630_000);
});

Deno.test("Sight takes a clock that is ahead of Temporal's for no time without a look", () => {
  const ahead = since + 120_000;
  const sight = sightOf(undefined, ahead);
  deepEqual([sight.looked(ahead), sight.looked(ahead + 30_000)], [0, 0]);
});
