/** Whether a played story came to the end that it should. */
import { equal } from "node:assert/strict";
import { cases } from "./cases.ts";
import { chanceFrom } from "./chance.ts";
import { play } from "./play.ts";
import type { Case, Owner } from "./play.ts";
import { poolOf } from "./pools.ts";
import type { Run } from "./run.ts";

/** Throws what is not as it should be. */
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
  if (!story.unchosen) equal(fleet.unchosen, 0, "the owner removed a machine that nobody had chosen");
  equal(run.converged, true, `blocked by ${JSON.stringify(run.blocked)}`);
  equal(old.length, 0);
  equal(machines.length, fleet.replicas);
  equal(machines.filter(({ held, marked, ready, going }) => held || marked || going || !ready).length, 0);
}

/** Plays the pools of all seeds from `from` up to `to`; the error names the first seed that came to no good end. */
export function judgePools(owner: Owner, { from, to }: { from: number; to: number }): void {
  for (let seed = from; seed < to; seed++) {
    const story = poolOf(seed);
    try {
      judge(story, play(story, chanceFrom(seed), owner));
    } catch (error) {
      throw new Error(`Cannot bring the pool of seed ${seed} to a good end: ${JSON.stringify(story)}`, {
        cause: error,
      });
    }
  }
}

/** Plays the story of that name by chance, once for each seed from `from` to before `to`; some in which marks are forgotten. */
export function judgeOrders(name: string, { from, to }: { from: number; to: number }): void {
  const story = cases[name] as Case;
  for (let seed = from; seed < to; seed++) {
    const told = { ...story, ...(seed % 5 === 4 ? { unmarked: true, unchosen: true } : {}) };
    try {
      judge(told, play(told, chanceFrom(seed)));
    } catch (error) {
      throw new Error(`Cannot bring "${name}" to a good end with seed ${seed}`, { cause: error });
    }
  }
}
