/** Checks whether a simulated story ended as expected. */
import { equal } from "node:assert/strict";
import { cases } from "./cases.ts";
import { chanceFrom } from "./chance.ts";
import { play } from "./play.ts";
import type { Case, Owner } from "./play.ts";
import { poolOf } from "./pools.ts";
import type { Run } from "./run.ts";

/** Throws if the run did not end as the story expects. */
export function judge(story: Case, run: Run): void {
  const { fleet } = run;
  const machines = [...fleet.machines.values()];
  const template = story.template ?? "B";
  const old = machines.filter(({ hash }) => hash !== template);
  if (story.ends !== undefined) {
    equal(run.blocked?.reason, story.ends);
    if (story.left !== undefined) equal(old.length, story.left);
    return;
  }
  if (!story.unchosen) equal(fleet.unchosen, 0, "the owner removed a machine that was not chosen");
  equal(run.converged, true, `blocked by ${JSON.stringify(run.blocked)}`);
  equal(old.length, 0);
  equal(machines.length, fleet.replicas);
  equal(machines.filter(({ held, marked, ready, going }) => held || marked || going || !ready).length, 0);
}

/**
 * Plays the random pool of each seed, from `from` to `to` - 1; throws at the first seed that fails, with its number.
 */
export function judgePools(owner: Owner, { from, to }: { from: number; to: number }): void {
  for (let seed = from; seed < to; seed++) {
    const story = poolOf(seed);
    try {
      judge(story, play(story, chanceFrom(seed), owner));
    } catch (error) {
      throw new Error(`Failed to complete the pool of seed ${seed}: ${JSON.stringify(story)}`, {
        cause: error,
      });
    }
  }
}

/**
 * Plays a story with random durations, once per seed from `from` to `to` - 1; with every fifth seed, new machines lack
 * the mark for removal.
 */
export function judgeOrders(name: string, { from, to }: { from: number; to: number }): void {
  const story = cases[name] as Case;
  for (let seed = from; seed < to; seed++) {
    const told = { ...story, ...(seed % 5 === 4 ? { unmarked: true, unchosen: true } : {}) };
    try {
      judge(told, play(told, chanceFrom(seed)));
    } catch (error) {
      throw new Error(`Failed to complete story "${name}" with seed ${seed}`, { cause: error });
    }
  }
}
