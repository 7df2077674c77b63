import assert from "node:assert/strict";
import { openIntervals, PolicyWindow } from "../../../../activities/policy/windows.ts";

type Given = { cron: string; duration: string; timeZone?: string };

/** Returns the intervals from `now` on, as texts in UTC. */
function intervals(now: string, ...windows: Given[]): string[] {
  const read = windows.map((window) => PolicyWindow.parse(window));
  const text = (time: number): string => new Date(time).toISOString().slice(5, 16);
  return openIntervals(read, Date.parse(now)).map(({ from, to }) => `${text(from)} ${text(to)}`);
}

Deno.test("openIntervals: begins with the open window, even if it opened before midnight", () => {
  const nightly = { cron: "0 22 * * *", duration: "6h" };
  const [first, second] = intervals("2026-06-02T01:00:00Z", nightly);
  assert.deepEqual([first, second], ["06-01T22:00 06-02T04:00", "06-02T22:00 06-03T04:00"]);
});

Deno.test("openIntervals: includes the start of a window, and excludes its end", () => {
  const nightly = { cron: "0 22 * * *", duration: "6h" };
  assert.equal(intervals("2026-06-02T04:00:00Z", nightly)[0], "06-02T22:00 06-03T04:00");
  assert.equal(intervals("2026-06-02T22:00:00Z", nightly)[0], "06-02T22:00 06-03T04:00");
});

Deno.test("openIntervals: keeps to the clock of the time zone when summer time begins and ends", () => {
  const nightly = { cron: "0 22 * * *", duration: "1h", timeZone: "Europe/Berlin" };
  assert.deepEqual(intervals("2026-03-28T12:00:00Z", nightly).slice(0, 2), [
    ...["03-28T21:00 03-28T22:00", "03-29T20:00 03-29T21:00"],
  ]);
  assert.deepEqual(intervals("2026-10-24T12:00:00Z", nightly).slice(0, 2), [
    ...["10-24T20:00 10-24T21:00", "10-25T21:00 10-25T22:00"],
  ]);
});

Deno.test("openIntervals: moves a start in the skipped hour to the first minute of summer time, and keeps the window's duration", () => {
  const nightly = { cron: "30 2 * * *", duration: "2h", timeZone: "Europe/Berlin" };
  assert.deepEqual(intervals("2026-03-28T12:00:00Z", nightly).slice(0, 2), [
    ...["03-29T01:00 03-29T03:00", "03-30T00:30 03-30T02:30"],
  ]);
});

Deno.test("openIntervals: opens a window once when its start occurs twice because summer time ends", () => {
  const nightly = { cron: "30 2 * * *", duration: "10m", timeZone: "Europe/Berlin" };
  assert.deepEqual(intervals("2026-10-24T12:00:00Z", nightly).slice(0, 2), [
    ...["10-25T00:30 10-25T00:40", "10-26T01:30 10-26T01:40"],
  ]);
});

Deno.test("openIntervals: keeps a window open for its duration when the clocks change", () => {
  const nightly = { cron: "0 22 * * *", duration: "8h", timeZone: "Europe/Berlin" };
  assert.equal(intervals("2026-10-24T23:00:00Z", nightly)[0], "10-24T20:00 10-25T04:00");
});

Deno.test("openIntervals: joins windows that overlap or touch, and sorts all windows by time", () => {
  const early = { cron: "0 1 * * *", duration: "2h" };
  const late = { cron: "0 3 * * *", duration: "1h" };
  const inside = { cron: "30 1 * * *", duration: "10m" };
  const noon = { cron: "0 12 * * *", duration: "1h" };
  assert.deepEqual(intervals("2026-06-01T00:00:00Z", noon, late, inside, early).slice(0, 3), [
    ...["06-01T01:00 06-01T04:00", "06-01T12:00 06-01T13:00", "06-02T01:00 06-02T04:00"],
  ]);
});

Deno.test("openIntervals: returns at most 20 intervals, and none that begins more than 60 days ahead", () => {
  const daily = { cron: "0 1 * * *", duration: "1h" };
  const weekly = { cron: "0 1 * * MON", duration: "1h" };
  assert.equal(intervals("2026-06-01T00:00:00Z", daily).length, 20);
  const told = intervals("2026-06-01T00:00:00Z", weekly);
  assert.deepEqual([told.length, told.at(-1)], [9, "07-27T01:00 07-27T02:00"]);
});

Deno.test("openIntervals: returns the next window, however far in the future", () => {
  const yearly = { cron: "0 1 24 12 *", duration: "1h" };
  assert.deepEqual(intervals("2026-01-01T00:00:00Z", yearly), ["12-24T01:00 12-24T02:00"]);
});

Deno.test("openIntervals: merges a window that opens every minute into one interval, and stops at a limit", () => {
  const minutely = { cron: "* * * * *", duration: "1m" };
  const [only, ...more] = openIntervals([PolicyWindow.parse(minutely)], 0);
  assert.deepEqual([only?.from, more.length], [0, 0]);
  assert.ok((only?.to ?? 0) >= 3_600_000);
});
