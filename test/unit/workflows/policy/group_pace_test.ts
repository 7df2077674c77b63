/** 25 nodes of a scaling group, five at a time, beside one after the other as the Constellation node operator replaces them. */
import { equal, ok } from "node:assert/strict";
import { chanceFrom } from "./simulation/chance.ts";
import { type Case, owners, play, start } from "./simulation/play.ts";

const seeds = 10;

/** Virtual milliseconds until all are replaced; how long each machine takes is drawn from the seed. */
function timeOf(seed: number, machines: number): number {
  const story: Case = { replicas: 25, surge: machines, budget: { machines } };
  const run = play(story, chanceFrom(seed), owners.group);
  equal(run.converged, true);
  return run.fleet.clock.now - start;
}

Deno.test("25 nodes at a budget of 5 take at most a quarter of the time that they take one after the other", () => {
  const ratios = Array.from({ length: seeds }, (_, seed) => timeOf(seed + 1, 5) / timeOf(seed + 1, 1));
  ok(Math.max(...ratios) <= 0.25, ratios.map((each) => each.toFixed(3)).join(", "));
});
