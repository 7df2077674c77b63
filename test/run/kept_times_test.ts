import assert from "node:assert/strict";
import { mostFirst } from "./kept_times.ts";

Deno.test("mostFirst: begins with large pieces, then quick ones, then those with the most work, unknown ones in their place", () => {
  const piece = (title: string, load: number, isQuick = false): { title: string; load: number; isQuick: boolean } => {
    return { title, load, isQuick };
  };
  const slow = [piece("short", 0.5), piece("new", 0.5), piece("long", 0.5), piece("heavy", 1), piece("brief", 1)];
  const pieces = [...slow, piece("unit", 1, true), piece("lint", 0.5, true)];
  const sorted = mostFirst(pieces, { short: 10, long: 300, heavy: 200, brief: 20, lint: 900 });
  assert.deepEqual(sorted.map(({ title }) => title), ["heavy", "unit", "lint", "long", "new", "brief", "short"]);
});
