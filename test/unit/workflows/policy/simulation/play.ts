/** Plays one case from its start to its end, at one speed or by chance. */
import { defaultRules } from "../../../../../activities/policy/default_rules.ts";
import type { Rules } from "../../../../../workflows/contracts/mod.ts";
import { supplierOf } from "../../../../../workflows/policy/supplier/supplier_of.ts";
import type { Blocked } from "../../../../../workflows/policy/turn.ts";
import type { Chance } from "./chance.ts";
import { Clock } from "./clock.ts";
import { Fleet } from "./fleet.ts";
import { Promises } from "./promises.ts";
import { Run } from "./run.ts";

/** When the story begins (epoch ms). */
export const start = 1_000_000_000_000;
export const minute = 60_000;

export interface Case {
  replicas: number;
  surge?: number;
  rules?: Partial<Omit<Rules, "budget">>;
  budget?: Partial<Rules["budget"]>;
  /** Worked out by hand, for the promise about waves. */
  waves?: { upTo: number; soak: number }[];
  zones?: string[];
  usual?: number;
  fails?: (nth: number) => boolean;
  gateFails?: (nth: number) => boolean;
  undrainable?: string[];
  /** What happens beside, at minutes from the start; the change to template B at 0 is left out with `quiet`. */
  script?: [minutes: number, act: (run: Run) => void][];
  quiet?: boolean;
  /** How it ends when not converged. */
  ends?: Blocked["reason"];
  template?: string;
  /** Newcomers bear no mark: then machine-controller may take any machine when their template is left. */
  unmarked?: boolean;
  /** machine-controller may take machines by itself: for fewer machines, or for what was taken back half-way. */
  unchosen?: boolean;
  /** Old machines that are left. */
  left?: number;
}

/** Plays on until the script is over and the pool has converged, or nothing moves any more. */
export function play(story: Case, chance: Chance): Run {
  const clock = new Clock(start);
  const run = new Run(fleetOf(story, clock, chance), {
    supplier: supplierOf(),
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
  const bound = 400 + 60 * story.replicas;
  while (clock.tick()) {
    run.turn();
    if (run.converged && left === 0) break;
    if (run.turns > bound) throw new Error(`Cannot converge within ${bound} turns: ${JSON.stringify(run.blocked)}`);
  }
  return run;
}

const beginning: [number, (run: Run) => void] = [0, (run) => run.change("B")];

function fleetOf(story: Case, clock: Clock, chance: Chance): Fleet {
  return new Fleet(clock, chance, {
    ...{ replicas: story.replicas, surge: story.surge ?? 1, zones: story.zones ?? [] },
    ...{ join: [5_000, 300_000], leave: [1_000, 120_000], reaction: [0, 5_000] },
    ...{ fails: story.fails ?? (() => false), repairAfter: 10 * minute, marksNewcomers: story.unmarked !== true },
  });
}

function rulesOf({ rules, budget }: Case): Rules {
  return { ...defaultRules, ...rules, budget: { ...defaultRules.budget, ...budget } };
}
