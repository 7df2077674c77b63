/**
 * Compares the time to replace 25 nodes of a scaling group five at a time with the time to replace them one at a time,
 * as the Constellation node operator does.
 */
import { equal, ok } from "node:assert/strict";
import { chanceFrom } from "./simulation/chance.ts";
import { type Case, owners, play, start } from "./simulation/play.ts";

const seeds = 10;

/** Returns the virtual milliseconds until all nodes are replaced; the seed determines the duration of each machine. */
function timeOf(seed: number, machines: number): number {
  const story: Case = { replicas: 25, surge: machines, budget: { machines } };
  const run = play(story, chanceFrom(seed), owners.group);
  equal(run.converged, true);
  return run.fleet.clock.now - start;
}

Deno.test("planTurn: replaces 25 nodes with a budget of 5 in at most a quarter of the time with a budget of 1", () => {
  const ratios = Array.from({ length: seeds }, (_, seed) => timeOf(seed + 1, 5) / timeOf(seed + 1, 1));
  ok(Math.max(...ratios) <= 0.25, ratios.map((each) => each.toFixed(3)).join(", "));
});
