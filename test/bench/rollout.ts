// deno-lint-ignore-file no-console -- this program prints its measurements
/**
 * How close rollouts of 1,000 machines, or of the number in the argument, come to the shortest time that budget, waves
 * and machines allow. Machine-controller is simulated, the planner is the one of Ostler's workflow. Exits with 1 when a
 * rollout takes more than 10 % longer than the optimum.
 *
 * optimum: the sum over all waves of the soak and the time of list scheduling, without any latency. The wave has as
 * many lanes as machines may change at once, and each replacement (one join and one drain) begins in the lane that is
 * free first. Without foreknowledge of durations no schedule is better on average.
 *
 * bound: the sum over all waves of the soak and the larger of two times: the time of all joins and drains divided by
 * the number of lanes, or the slowest join plus the fastest drain. No schedule is faster, even with foreknowledge.
 */
import process from "node:process";
import { defaultRules } from "../../activities/policy/default_rules.ts";
import type { Rules } from "../../workflows/contracts/mod.ts";
import { planTurn } from "../../workflows/policy/plan_turn.ts";
import { supplierOf } from "../../workflows/policy/supplier.ts";
import { chanceFrom } from "../unit/workflows/policy/simulation/chance.ts";
import type { Chance } from "../unit/workflows/policy/simulation/chance.ts";
import { Clock } from "../unit/workflows/policy/simulation/clock.ts";
import { SetFleet } from "../unit/workflows/policy/simulation/set_fleet.ts";
import { Run } from "../unit/workflows/policy/simulation/run.ts";
import { type Figure, figuresOf } from "./figure.ts";

const mostAbove = 0.1;
const hour = 3_600_000;
const join: [number, number] = [60_000, 300_000];
const leave: [number, number] = [10_000, 120_000];
const canary: Rules["waves"] = [{ upTo: 1, soak: 300_000 }, { upTo: "10%", soak: 600_000 }, { upTo: "100%", soak: 0 }];
const plain: Rules["waves"] = [{ upTo: "100%", soak: 0 }];

interface Work {
  joins: number[];
  leaves: number[];
}

interface Measurement {
  hours: number;
  optimumHours: number;
  boundHours: number;
  turns: number;
  turnsPerSecond: number;
  plansPerSecond: number;
}

interface Case {
  machines: number;
  budget: number;
  waves: Rules["waves"];
}

function measure({ machines, budget, waves }: Case): Measurement {
  const works: Work[] = waves.map(() => ({ joins: [], leaves: [] }));
  const chance = chanceFrom(1);
  const noted: Chance = (least, most) => {
    const value = chance(least, most);
    const work = works[run.wave.index];
    if (most === join[1]) work?.joins.push(value);
    if (most === leave[1]) work?.leaves.push(value);
    return value;
  };
  const run: Run = runOf(noted, { machines, budget, waves });
  const { clock } = run.fleet;
  run.change("B");
  const start = performance.now();
  let plansPerSecond = 0;
  while (!run.converged && clock.tick()) {
    run.turn();
    if (run.turns === machines) plansPerSecond = planningSpeed(run);
  }
  if (!run.converged) throw new Error(`Failed to roll out ${machines} machines: blocked by "${run.blocked?.reason}"`);
  const turnsPerSecond = run.turns / (performance.now() - start) * 1000;
  const soaks = waves.reduce((sum, { soak }) => sum + soak, 0);
  const hoursOf = (time: (work: Work, lanes: number) => number): number =>
    works.reduce((sum, work) => sum + time(work, budget), soaks) / hour;
  const times = { hours: clock.now / hour, optimumHours: hoursOf(listTime), boundHours: hoursOf(boundTime) };
  return { ...times, turns: run.turns, turnsPerSecond, plansPerSecond };
}

function runOf(chance: Chance, { machines, budget, waves }: Case): Run {
  const fleet = new SetFleet(new Clock(0), chance, {
    ...{ replicas: machines, surge: budget, zones: [], join, leave, reaction: [0, 1_000] },
    ...{ fails: () => false, repairAfter: 600_000, marksNewcomers: true },
  });
  const rules = { ...defaultRules, waves, budget: { ...defaultRules.budget, machines: budget } };
  return new Run(fleet, {
    ...{
      supplier: supplierOf(),
      rules,
      usual: null,
      gates: [0, 0],
      undrainable: [],
      gateFails: () => false,
      write: [0, 200],
    },
  });
}

/** Returns the time (ms) of list scheduling: each replacement begins in the lane that is free first. */
function listTime({ joins, leaves }: Work, lanes: number): number {
  const free = Array.from({ length: lanes }, () => 0);
  for (const [nth, each] of joins.entries()) {
    const first = free.indexOf(Math.min(...free));
    free[first] = (free[first] ?? 0) + each + (leaves[nth] ?? 0);
  }
  return Math.max(...free);
}

function boundTime({ joins, leaves }: Work, lanes: number): number {
  const sum = [...joins, ...leaves].reduce((total, each) => total + each, 0);
  return Math.max(sum / lanes, Math.max(...joins) + Math.min(...leaves));
}

function planningSpeed(run: Run): number {
  const situation = run.situation();
  const start = performance.now();
  for (let time = 0; time < 2_000; time++) planTurn(situation);
  return 2_000 / (performance.now() - start) * 1000;
}

/**
 * Measures rollouts with one wave and with canary waves, for 1, 10 and a tenth of all machines at once. Returns, for
 * each of these budgets, the time relative to the optimum in the slower of the two rollouts.
 */
export function measureTime(machines: number): Figure[] {
  const budgets: [number, string][] = [[1, "1"], [10, "10"], [Math.ceil(machines / 10), "10 %"]];
  return figuresOf(
    { part: "roll", column: "Ostler", size: machines },
    budgets.map(([budget, name]) => {
      const measured = [plain, canary].map((waves) => measure({ machines, budget, waves }));
      const worst = Math.max(...measured.map(({ hours, optimumHours }) => hours / optimumHours));
      return [`time over optimum, ${name} at once`, "times", worst];
    }),
  );
}

function main(machines: number): void {
  console.log(`Rollouts of ${machines} machines, each joins in 1 to 5 min and is drained in 10 to 120 s\n`);
  console.log("budget  waves       hours  optimum   above    bound   above   turns  turns/s  plans/s");
  let isKept = true;
  for (const budget of [1, 10, 100]) {
    for (const [name, waves] of [["one", plain], ["1-10%-100%", canary]] as const) {
      const measured = measure({ machines, budget, waves });
      isKept &&= measured.hours / measured.optimumHours - 1 <= mostAbove;
      console.log(lineOf([String(budget).padStart(6), name.padEnd(10)], measured));
    }
  }
  console.log(`\nat most ${mostAbove * 100} % above the optimum: ${isKept ? "kept" : "BROKEN"}`);
  process.exitCode = isKept ? 0 : 1;
}

function lineOf(names: string[], measured: Measurement): string {
  const { hours, optimumHours, boundHours, turns, turnsPerSecond, plansPerSecond } = measured;
  const above = (least: number): string[] => [
    least.toFixed(2).padStart(7),
    `${((hours / least - 1) * 100).toFixed(1)}%`.padStart(6),
  ];
  const times = [hours.toFixed(2).padStart(6), ...above(optimumHours), ...above(boundHours)];
  const speeds = [turns, turnsPerSecond, plansPerSecond].map((value) => value.toFixed(0).padStart(7));
  return [...names, ...times, ...speeds].join("  ");
}

if (import.meta.main) main(Number(Deno.args[0] ?? 1_000));
