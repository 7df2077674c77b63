/** Runs one story from start to end, with constant or random durations. */
import { defaultRules } from "../../../../../activities/policy/default_rules.ts";
import type { Rules } from "../../../../../workflows/contracts/mod.ts";
import { scalingGroup as group, type Supplier, supplierOf } from "../../../../../workflows/policy/supplier.ts";
import type { Blocked } from "../../../../../workflows/policy/turn.ts";
import type { Chance } from "./chance.ts";
import { Clock } from "./clock.ts";
import type { Fleet, FleetOptions } from "./fleet.ts";
import { GroupFleet } from "./group_fleet.ts";
import { SetFleet } from "./set_fleet.ts";
import { Promises } from "./promises.ts";
import { Run } from "./run.ts";

/** Start of a story (epoch ms). */
export const start = 1_000_000_000_000;
export const minute = 60_000;

export interface Case {
  replicas: number;
  surge?: number;
  rules?: Partial<Omit<Rules, "budget">>;
  budget?: Partial<Rules["budget"]>;
  /** The expected waves, computed by hand, with which `Promises` compares the waves of the rollout. */
  waves?: { upTo: number; soak: number }[];
  zones?: string[];
  usual?: number;
  fails?: (nth: number) => boolean;
  gateFails?: (nth: number) => boolean;
  undrainable?: string[];
  /** Events, in minutes from the start; `quiet` omits the change to template B at minute 0. */
  script?: [minutes: number, act: (run: Run) => void][];
  quiet?: boolean;
  /** An event after `first` minutes, and again every `every` minutes; the story may end before the first time. */
  word?: { first: number; every: number; act: (run: Run) => void };
  /** The reason that blocks the rollout at the end of a story that does not converge. */
  ends?: Blocked["reason"];
  template?: string;
  /**
   * Whether new machines lack the mark for removal, so that machine-controller may remove any machine when their
   * template is abandoned.
   */
  unmarked?: boolean;
  /**
   * Whether the owner may remove serving machines that Ostler did not choose, to scale down or after a reverted change.
   */
  unchosen?: boolean;
  /** Expected number of old machines at the end of a story that ends blocked. */
  left?: number;
}

/**
 * The owner of the machines of a story, such as a scaling group, and the rules by which the planner treats the owner.
 */
export interface Owner {
  supplier: Supplier;
  fleet: (clock: Clock, chance: Chance, options: FleetOptions) => Fleet;
}

export const owners = {
  sets: { supplier: supplierOf(), fleet: (clock, chance, options) => new SetFleet(clock, chance, options) },
  group: { supplier: group, fleet: (clock, chance, options) => new GroupFleet(clock, chance, options) },
} satisfies Record<string, Owner> as Record<"sets" | "group", Owner>;

/** Runs until the script is over and the pool has converged, or nothing is left to happen. */
export function play(story: Case, chance: Chance, owner = owners.sets): Run {
  const clock = new Clock(start);
  const run = new Run(owner.fleet(clock, chance, fleetOptions(story)), {
    supplier: owner.supplier,
    rules: rulesOf(story),
    usual: story.usual ?? null,
    ...{ gates: [1_000, 30_000], write: [0, 1_000] },
    ...{ undrainable: story.undrainable ?? [], gateFails: story.gateFails ?? (() => false) },
  });
  run.watch = new Promises(run, story.waves);
  const script: NonNullable<Case["script"]> = [...(story.quiet ? [] : [beginning]), ...(story.script ?? [])];
  let left = script.length;
  for (const [minutes, act] of script) {
    clock.after(minutes * minute, () => {
      left -= 1;
      act(run);
      run.fleet.touch();
    });
  }
  if (story.word) speak(run, story.word, story.word.first);
  const bound = 400 + 60 * story.replicas;
  while (clock.tick()) {
    run.turn();
    if (run.converged && left === 0) break;
    if (run.turns > bound) throw new Error(`Failed to converge within ${bound} turns: ${JSON.stringify(run.blocked)}`);
  }
  return run;
}

function speak(run: Run, word: NonNullable<Case["word"]>, minutes: number): void {
  run.fleet.clock.after(minutes * minute, () => {
    word.act(run);
    speak(run, word, word.every);
  });
}

const beginning: [number, (run: Run) => void] = [0, (run) => run.change("B")];

function fleetOptions(story: Case): FleetOptions {
  return {
    ...{ replicas: story.replicas, surge: story.surge ?? 1, zones: story.zones ?? [] },
    ...{ join: [5_000, 300_000], leave: [1_000, 120_000], reaction: [0, 5_000] },
    ...{ fails: story.fails ?? (() => false), repairAfter: 10 * minute, marksNewcomers: story.unmarked !== true },
  };
}

function rulesOf({ rules, budget }: Case): Rules {
  return { ...defaultRules, ...rules, budget: { ...defaultRules.budget, ...budget } };
}
