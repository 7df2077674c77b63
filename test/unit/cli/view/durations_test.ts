import assert from "node:assert/strict";
import { clock, duration, moment, parseDuration, range } from "../../../../cli/view/durations.ts";

const noon = new Date(2026, 10, 21, 12, 0).getTime();

Deno.test("duration: returns at most two adjacent units", () => {
  const cases: [number, string][] = [[0, "0s"], [59.6, "1m"], [61, "1m1s"], [3_600, "1h"], [3_605, "1h"], [
    90_000,
    "1d1h",
  ], [
    200_000,
    "2d7h",
  ], [-5, "0s"]];
  for (const [seconds, text] of cases) assert.equal(duration(seconds), text);
});

Deno.test("clock: includes the date only when the time is on another day", () => {
  assert.equal(clock(noon + 125 * 60_000, noon), "14:05");
  assert.equal(clock(noon + 24 * 3_600_000, noon), "Nov 22 12:00");
});

Deno.test("moment: adds the distance from now to a past or future time, and returns an empty text without a time", () => {
  assert.equal(moment(noon + 720_000, noon), "12:12 (in 12m)");
  assert.equal(moment(new Date(noon - 60_000).toISOString(), noon), "11:59 (1m ago)");
  assert.equal(moment("", noon), "");
  assert.equal(moment(undefined, noon), "");
});

Deno.test("range: returns both ends, one number when both are almost equal, and a fixed text without a range", () => {
  assert.equal(range({ low: 720, high: 1_140 }), "12 to 19 min");
  assert.equal(range({ low: 720, high: 725 }), "about 12 min");
  assert.equal(range({ low: 40, high: 90 }), "40 to 90 s");
  assert.equal(range({ low: 7_200, high: 12_600 }), "2 to 3.5 h");
  assert.equal(range(null), "not known yet");
});

Deno.test("parseDuration: accepts 0, and whole numbers with units in descending order; refuses any other text", () => {
  assert.equal(parseDuration("90s"), 90_000);
  assert.equal(parseDuration("1h30m"), 5_400_000);
  assert.equal(parseDuration("2d"), 172_800_000);
  assert.equal(parseDuration("0"), 0);
  for (const wrong of ["", "5", "5x", "30m1h", "-1s", "1.5h"]) {
    assert.throws(() => parseDuration(wrong), {
      message: `Failed to use "${wrong}" as a duration: expected a form such as 90s, 15m or 1h30m`,
    });
  }
});
