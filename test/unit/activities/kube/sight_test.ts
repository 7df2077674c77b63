import { deepEqual, equal } from "node:assert/strict";
import { Sight } from "../../../../activities/kube/polling.ts";

const since = 1_000_000;

function sightOf(heartbeatDetails?: unknown, now = since): Sight {
  return new Sight({ heartbeatDetails, scheduledTimestampMs: since }, now);
}

Deno.test("Sight: counts no time as unseen between reads that follow each other within 90 s", () => {
  const sight = sightOf();
  deepEqual([30, 75, 164].map((seconds) => sight.looked(since + seconds * 1000)), [0, 0, 0]);
});

Deno.test("Sight: counts ten minutes without a read as unseen, and adds 30 s for nodes and machines to report again", () => {
  const sight = sightOf();
  equal(sight.looked(since + 600_000), 630_000);
  equal(sight.looked(since + 601_000), 0);
});

Deno.test("Sight: continues where the previous attempt stopped", () => {
  const sight = sightOf({ waitsFor: "x", lookedAt: since + 3_600_000 }, since + 3_601_000);
  equal(sight.looked(since + 3_601_000), 0);
  deepEqual(sight.noted("y"), { waitsFor: "y", lookedAt: since + 3_601_000 });
});

Deno.test("Sight: counts the time since the activity was scheduled as unseen when the heartbeat has no time of a read", () => {
  const late = since + 3_600_000;
  for (const details of [undefined, "1 pods remain", 7]) equal(sightOf(details, late).looked(late), 3_630_000);
});

Deno.test("Sight: ignores a local clock that is ahead of Temporal's", () => {
  const ahead = since + 120_000;
  const sight = sightOf(undefined, ahead);
  deepEqual([sight.looked(ahead), sight.looked(ahead + 30_000)], [0, 0]);
});
