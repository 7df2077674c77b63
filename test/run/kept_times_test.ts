import assert from "node:assert/strict";
import { mostFirst } from "./kept_times.ts";

type Sorted = Parameters<typeof mostFirst>[0][number];

Deno.test("mostFirst: begins with large pieces, then quick ones, then those with the most work, and assumes the durations of unknown ones", () => {
  const piece = (title: string, load: number, { isQuick = false, isLong = false } = {}): Sorted => {
    return { title, load, isQuick, isLong };
  };
  const small = [piece("short", 0.5), piece("new", 0.5), piece("new and long", 0.5, { isLong: true })];
  const slow = [...small, piece("long", 0.5), piece("heavy", 1), piece("brief", 1)];
  const pieces = [...slow, piece("unit", 1, { isQuick: true }), piece("lint", 0.5, { isQuick: true })];
  const sorted = mostFirst(pieces, { short: 10, long: 300, heavy: 200, brief: 20, lint: 900 });
  assert.deepEqual(sorted.map(({ title }) => title), [
    ...["heavy", "unit", "lint", "long", "new and long", "brief", "new", "short"],
  ]);
});
