/** The computations of the bench. */
import assert from "node:assert/strict";
import { chartOf } from "../bench/chart.ts";
import { beside, type Figure, figuresOf, growthOf, growths, median, quantile } from "../bench/figure.ts";
import { tableOf } from "../bench/table.ts";

function backlog(column: "Ostler" | "OSM", size: number, seconds: number): Figure[] {
  return figuresOf({ part: "backlog", column, size }, [["time", "s", seconds]]);
}

Deno.test("growthOf: returns the exponent with which a value grows with size", () => {
  const grown = (power: number): { size: number; value: number }[] =>
    [100, 300, 1000].map((size) => ({ size, value: 7 * size ** power }));
  for (const power of [-0.5, 0, 1, 2]) assert.ok(Math.abs((growthOf(grown(power)) ?? NaN) - power) < 1e-9);
  assert.equal(growthOf(grown(1).slice(0, 1)), undefined);
});

Deno.test("beside: joins the values of both systems into one row per size, and growths returns the growth of each system", () => {
  const figures = beside([
    ...[...backlog("Ostler", 100, 4), ...backlog("Ostler", 200, 8)],
    ...[...backlog("OSM", 100, 2), ...backlog("OSM", 200, 2)],
  ]);
  assert.deepEqual(figures.map(({ size, values }) => [size, values]), [
    [100, { Ostler: 4, OSM: 2 }],
    [200, { Ostler: 8, OSM: 2 }],
  ]);
  const { Ostler = NaN, OSM = NaN } = growths(figures, figures[0] as Figure);
  assert.ok(Math.abs(Ostler - 1) < 1e-9 && OSM === 0);
});

Deno.test("tableOf: shows the ratio of both systems in a row, and the growth in the row of the largest size", () => {
  const figures = beside([...backlog("Ostler", 100, 4), ...backlog("Ostler", 200, 8), ...backlog("OSM", 200, 2)]);
  const [, , small = "", large = ""] = tableOf(figures).split("\n").map((line) => line.replaceAll(/ +/g, " "));
  assert.equal(small, "| backlog: time | 100 | s | | 4.00 | | | |");
  assert.equal(large, "| backlog: time | 200 | s | 2.00 | 8.00 | | 4.00 | Ostler 1.00 |");
});

Deno.test("median, quantile: return one of the measured values, and NaN without values", () => {
  assert.equal(median([9, 1, 5]), 5);
  assert.equal(quantile([1, 2, 3, 4], 0.99), 4);
  assert.ok(Number.isNaN(median([])));
});

Deno.test("chartOf: draws a bar for each value, and escapes XML", () => {
  const chart = chartOf(figuresOf({ part: "a<b", column: "OSM" }, [["x & y", "s", 3]]), "here");
  assert.equal(chart.match(/<rect x=/g)?.length, 1);
  assert.ok(chart.includes("a&lt;b: x &amp; y"));
});
