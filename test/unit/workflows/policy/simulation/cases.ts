/** The stories that the planner must complete, in any order of events. */
import type { Gate } from "../../../../../workflows/contracts/mod.ts";
import {
  approve,
  approveWave,
  change,
  holdAll,
  pause,
  recover,
  remove,
  restart,
  retry,
  rollBack,
  scale,
  sicken,
  skip,
} from "./events.ts";
import { minute, start } from "./play.ts";
import type { Case } from "./play.ts";

const waveGate: Gate = {
  ...{ name: "g", run: "EachWave", within: minute },
  check: { kind: "NodeCondition", type: "Ready", status: "True" },
};
const zones = ["a", "b", "c"];
const listed = (...waves: [number | string, number][]): NonNullable<Case["rules"]> => ({
  waves: waves.map(([upTo, soak]) => ({ upTo, soak: soak * minute })),
});
const worked = (...waves: [number, number][]): NonNullable<Case["waves"]> =>
  waves.map(([upTo, soak]) => ({ upTo, soak: soak * minute }));
const window = (from: number, to: number): { from: number; to: number } => ({
  ...{ from: start + from * minute, to: start + to * minute },
});

/** Stories by name; a failed test prints the name. */
export const cases: Record<string, Case> = {
  "no machine at all": { replicas: 0 },
  "one machine": { replicas: 1 },
  "two machines": { replicas: 2 },
  "three machines one by one": { replicas: 3 },
  "five machines, surge 3, one by one": { replicas: 5, surge: 3 },
  "budget 3 of surge 3": { replicas: 7, surge: 3, budget: { machines: 3 } },
  "budget above the surge": { replicas: 6, surge: 2, budget: { machines: 5 } },
  "surge above the pool": { replicas: 2, surge: 10, budget: { machines: 10 } },
  "a budget in percent": { replicas: 12, surge: 12, budget: { machines: "25%" } },
  "forty machines, a tenth at once": { replicas: 40, surge: 4, budget: { machines: "10%" } },
  "everything at once": { replicas: 8, surge: 8, budget: { machines: "100%" } },
  "no surge": { unchosen: true, replicas: 3, surge: 0 },
  "no surge, held before the change": {
    unchosen: true,
    replicas: 3,
    surge: 0,
    quiet: true,
    script: [[0, holdAll], [0, change("B")]],
  },
  "no surge, held before the change, two at once": {
    unchosen: true,
    ...{ replicas: 6, surge: 0, budget: { machines: 2 }, rules: listed([1, 5], [3, 0], ["100%", 0]) },
    ...{ waves: worked([1, 5], [3, 0], [6, 0]), quiet: true, script: [[0, holdAll], [0, change("B")]] },
  },
  "no surge, held before the change, paused and resumed": {
    unchosen: true,
    ...{ replicas: 3, surge: 0, quiet: true },
    script: [[0, holdAll], [0, change("B")], [2, pause(true)], [30, pause(false)]],
  },
  "no surge, waves": { unchosen: true, replicas: 5, surge: 0, rules: listed([1, 5], [3, 0], ["100%", 0]) },
  "no surge, paused and resumed": {
    unchosen: true,
    replicas: 3,
    surge: 0,
    script: [[2, pause(true)], [30, pause(false)]],
  },
  "canary, then a tenth, then all": {
    ...{ replicas: 20, surge: 4, budget: { machines: 4 } },
    ...{ rules: listed([1, 5], ["10%", 10], ["100%", 0]), waves: worked([1, 5], [2, 10], [20, 0]) },
  },
  "waves without 100%": {
    ...{ replicas: 6, surge: 2, budget: { machines: 2 } },
    ...{ rules: listed([2, 1], ["50%", 1]), waves: worked([2, 1], [3, 1], [6, 0]) },
  },
  "waves of the same size": { replicas: 3, rules: listed([1, 1], ["10%", 60], ["100%", 2]) },
  "a soak after the last wave": { replicas: 3, rules: listed(["100%", 20]), waves: worked([3, 20]) },
  "waves that double": {
    ...{ replicas: 15, surge: 8, budget: { machines: 8 }, waves: worked([1, 2], [3, 2], [7, 2], [15, 2]) },
    rules: { growth: { from: 1, factor: 2, soak: 2 * minute } },
  },
  "waves that grow by half": {
    ...{ replicas: 9, surge: 3, budget: { machines: 3 }, waves: worked([2, 0], [5, 0], [9, 0]) },
    rules: { growth: { from: 2, factor: 1.5, soak: 0 } },
  },
  "gates after each wave": {
    ...{ replicas: 6, surge: 2, budget: { machines: 2 }, waves: worked([1, 0], [3, 1], [6, 0]) },
    rules: { ...listed([1, 0], [3, 1], [6, 0]), gates: [waveGate] },
  },
  "one per zone": { replicas: 9, surge: 6, zones, budget: { machines: 6, perZone: 1 } },
  "two per zone by share": { replicas: 9, surge: 9, zones, budget: { machines: 9, perZone: "20%" } },
  "zones one after another": { replicas: 9, surge: 3, zones, budget: { machines: 3, zones: "OneAfterAnother" } },
  "zones one after another, one machine each": {
    ...{ replicas: 6, surge: 3, zones, budget: { machines: 3, perZone: 1, zones: "OneAfterAnother" } },
  },
  "zones and waves": {
    ...{ replicas: 9, surge: 3, zones, budget: { machines: 3, perZone: 1 } },
    ...{ rules: listed([2, 3], ["100%", 0]), waves: worked([2, 3], [9, 0]) },
  },
  "a single window": { replicas: 3, rules: { windows: [window(20, 2000)] } },
  "short windows": {
    ...{ replicas: 4, surge: 2, budget: { machines: 2 } },
    rules: { windows: Array.from({ length: 40 }, (_, nth) => window(nth * 30, nth * 30 + 5)) },
  },
  "windows that a replacement must fit into": {
    ...{ replicas: 4, surge: 2, budget: { machines: 2 }, usual: 8 * minute },
    rules: { windows: Array.from({ length: 40 }, (_, nth) => window(nth * 30, nth * 30 + 10)) },
  },
  "windows that no replacement fits into": {
    ...{ replicas: 4, surge: 2, budget: { machines: 2 }, usual: 45 * minute },
    rules: { windows: Array.from({ length: 40 }, (_, nth) => window(nth * 60, nth * 60 + 30)) },
  },
  "no further window": { replicas: 3, rules: { windows: [] }, ends: "OutsideWindow", left: 3 },
  "windows and a soak": {
    ...{ replicas: 4, rules: { ...listed([1, 40], ["100%", 0]), windows: [window(5, 30), window(60, 4000)] } },
    waves: worked([1, 40], [4, 0]),
  },
  "a new machine that fails once": { replicas: 3, fails: (nth) => nth === 4 },
  "two of three new machines that fail": {
    ...{ replicas: 5, surge: 3, budget: { machines: 3 }, fails: (nth) => nth === 6 || nth === 8 },
  },
  "a new machine that fails its gates": { replicas: 3, gateFails: (nth) => nth === 4 },
  "several new machines that fail their gates": {
    ...{ replicas: 6, surge: 3, budget: { machines: 3 }, gateFails: (nth) => nth === 7 || nth === 9 },
  },
  "a bad image is quarantined": { replicas: 4, fails: (nth) => nth > 4, ends: "Quarantined", left: 4 },
  "a bad image that only gates detect is quarantined": {
    replicas: 4,
    gateFails: (nth) => nth > 4,
    ends: "Quarantined",
    left: 4,
  },
  "a bad image, retried": { replicas: 3, fails: (nth) => nth > 3, script: [[120, retry]] },
  "a bad image, rolled back": {
    ...{ replicas: 4, surge: 2, budget: { machines: 2 }, fails: (nth) => nth > 6, template: "A" },
    script: [[150, retry], [150, rollBack]],
  },
  "rolled back in the middle": { replicas: 5, script: [[12, rollBack]], template: "A" },
  "rolled back at once": { replicas: 3, script: [[0.2, rollBack]], template: "A" },
  "rolled back with a budget of 3": {
    ...{ replicas: 8, surge: 3, budget: { machines: 3 }, script: [[10, rollBack]], template: "A" },
  },
  "rolled back outside the windows and in a soak": {
    ...{ replicas: 4, rules: { ...listed([2, 500], ["100%", 0]), windows: [window(0, 60)] }, template: "A" },
    script: [[70, rollBack]],
  },
  "superseded by a third template": {
    replicas: 5,
    surge: 2,
    budget: { machines: 2 },
    script: [[8, change("C")]],
    template: "C",
  },
  "superseded twice": { replicas: 4, script: [[3, change("C")], [9, change("D")]], template: "D" },
  "changed back by a person": {
    replicas: 4,
    surge: 2,
    budget: { machines: 2 },
    script: [[7, change("A")]],
    template: "A",
  },
  "scaled up in the middle": { replicas: 3, script: [[6, scale(8)]] },
  "scaled down in the middle": {
    unchosen: true,
    replicas: 8,
    surge: 2,
    budget: { machines: 2 },
    script: [[9, scale(3)]],
  },
  "scaled to zero in the middle": { unchosen: true, replicas: 4, script: [[9, scale(0)]] },
  "scaled up and down and up": { unchosen: true, replicas: 4, script: [[4, scale(9)], [11, scale(2)], [20, scale(6)]] },
  "scaled up while paused": { replicas: 3, script: [[4, pause(true)], [8, scale(5)], [60, pause(false)]] },
  "scaled up without a rollout": { replicas: 3, quiet: true, template: "A", script: [[1, scale(9)]] },
  "scaled down without a rollout": { unchosen: true, replicas: 9, quiet: true, template: "A", script: [[1, scale(2)]] },
  "scaled with waves in percent": {
    unchosen: true,
    ...{ replicas: 10, surge: 3, budget: { machines: 3 }, rules: listed(["10%", 2], ["50%", 2], ["100%", 0]) },
    script: [[6, scale(16)], [30, scale(7)]],
  },
  "paused and resumed": { replicas: 4, script: [[5, pause(true)], [50, pause(false)]] },
  "paused for good": { replicas: 4, script: [[5, pause(true)]], ends: "Paused" },
  "approved before the first": { replicas: 3, rules: { approval: "BeforeFirst" }, script: [[30, approve]] },
  "never approved": { replicas: 3, rules: { approval: "BeforeFirst" }, ends: "AwaitingApproval", left: 3 },
  "approved wave by wave": {
    ...{
      replicas: 4,
      rules: { ...listed([1, 0], ["100%", 0]), approval: "BeforeEachWave" },
      waves: worked([1, 0], [4, 0]),
    },
    script: [[10, approveWave], [60, approveWave]],
  },
  "two policies that select the pool": {
    replicas: 3,
    rules: { conflict: "a and b select it" },
    ends: "PolicyConflict",
    left: 3,
  },
  "one machine skipped": { replicas: 4, script: [[0, skip("A2")]], ends: "OnlySkippedRemain", left: 1 },
  "a machine skipped too late": {
    ...{ replicas: 4, surge: 2, budget: { machines: 2 }, script: [[0.5, skip("A1")]] },
  },
  "a machine that cannot be drained": {
    ...{ replicas: 4, surge: 2, budget: { machines: 2 }, undrainable: ["A2"], ends: "SetAside", left: 1 },
  },
  "a machine that cannot be drained uses up the budget": {
    replicas: 4,
    undrainable: ["A1"],
    ends: "SetAside",
    left: 4,
  },
  "an old machine unhealthy before the rollout": { replicas: 4, script: [[0, sicken("A3")]] },
  "two old machines unhealthy, budget 1": { replicas: 6, script: [[0, sicken("A3")], [0, sicken("A5")]] },
  "an old machine unhealthy in the middle": { replicas: 5, script: [[7, sicken("A5")]] },
  "an updated machine unhealthy in the middle": { replicas: 4, script: [[20, sicken("B5")]] },
  "a machine not Ready for a while": { replicas: 4, script: [[6, sicken("A4")], [12, recover("A4")]] },
  "a machine unhealthy in a soak": {
    replicas: 4,
    rules: listed([1, 90], ["100%", 0]),
    script: [[30, sicken("A4")]],
    waves: worked([1, 90], [4, 0]),
  },
  "a machine unhealthy while paused": {
    replicas: 3,
    script: [[3, pause(true)], [10, sicken("A3")], [90, pause(false)]],
  },
  "a machine unhealthy without a rollout": { replicas: 4, quiet: true, template: "A", script: [[1, sicken("A2")]] },
  "too many unhealthy without a rollout": {
    ...{ replicas: 4, quiet: true, template: "A", ends: "TooManyUnhealthy" },
    script: [[1, sicken("A1")], [1, sicken("A2")], [1, sicken("A3")]],
  },
  "too many unhealthy that recover": {
    ...{ replicas: 4, quiet: true, template: "A" },
    script: [[1, sicken("A1")], [1, sicken("A2")], [1, sicken("A3")], [30, recover("A1")], [30, recover("A2")]],
  },
  "a machine removed by hand": { unchosen: true, replicas: 4, script: [[6, remove("A4")]] },
  "a new machine removed by hand": { unchosen: true, replicas: 4, script: [[3, remove("B5")]] },
  "a worker that dies": {
    replicas: 5,
    surge: 2,
    budget: { machines: 2 },
    script: [[2, restart], [5, restart], [9, restart]],
  },
  "a worker that dies often": {
    ...{ replicas: 4, surge: 2, budget: { machines: 2 }, rules: listed([1, 2], ["100%", 0]) },
    script: Array.from({ length: 40 }, (_, nth) => [nth / 2, restart]),
  },
  "a worker that dies during a rollback": {
    ...{ replicas: 5, template: "A", script: [[9, rollBack], [9.5, restart], [11, restart], [14, restart]] },
  },
};
