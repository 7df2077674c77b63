import { deepEqual, equal } from "node:assert/strict";
import type { Rules, WaveState } from "../../../../workflows/contracts/mod.ts";
import { machinesOf } from "../../../../workflows/policy/turn.ts";
import { planTurn } from "../../../../workflows/policy/plan_turn.ts";
import { waveTargets } from "../../../../workflows/policy/waves.ts";
import { members, minute, now, situationOf, told } from "./simulation/picture.ts";
import type { Difference } from "./simulation/picture.ts";

const amounts: [amount: number | string, replicas: number, machines: number][] = [
  ...[[1, 10, 1], [25, 10, 25]] as [number, number, number][],
  ...[["10%", 30, 3], ["10%", 31, 4], ["1%", 3, 1], ["100%", 7, 7], ["7%", 100, 7]] as [string, number, number][],
];

for (const [amount, replicas, machines] of amounts) {
  Deno.test(`machinesOf: returns ${machines} for ${amount} of ${replicas}`, () => {
    equal(machinesOf(amount, replicas), machines);
  });
}

const listed = (...upTo: (number | string)[]): Pick<Rules, "waves" | "growth"> => ({
  ...{ waves: upTo.map((each) => ({ upTo: each, soak: 1 })), growth: null },
});
const grown = (from: number, factor: number): Pick<Rules, "waves" | "growth"> => ({
  ...{ waves: [], growth: { from, factor, soak: 2 } },
});

const targets: [rules: Pick<Rules, "waves" | "growth">, replicas: number, upTo: number[]][] = [
  [listed("100%"), 5, [5]],
  [listed(), 5, [5]],
  [listed(1, "10%", "100%"), 40, [1, 4, 40]],
  [listed(1, "10%"), 40, [1, 4, 40]],
  [listed(5, 2, "100%"), 10, [5, 5, 10]],
  [listed(50), 10, [10]],
  [grown(1, 2), 10, [1, 3, 7, 10]],
  [grown(1, 1), 3, [1, 2, 3]],
  [grown(2, 3), 20, [2, 8, 20]],
  [grown(2, 1.5), 9, [2, 5, 9]],
  [grown(2, 0.1), 4, [2, 3, 4]],
];

for (const [rules, replicas, upTo] of targets) {
  const { waves, growth } = rules;
  const what = growth ? `from ${growth.from} by ${growth.factor}` : waves.map((wave) => wave.upTo).join(", ");
  Deno.test(`waveTargets: returns ${upTo.join(", ")} for ${what || "no waves"} of ${replicas} machines`, () => {
    deepEqual(waveTargets(rules, replicas).map((wave) => wave.upTo), upTo);
  });
}

Deno.test("waveTargets: uses the soaks of the policy, and adds a missing last wave without a soak", () => {
  deepEqual(waveTargets(listed(1), 2).map(({ soak }) => soak), [1, 0]);
  deepEqual(waveTargets(grown(1, 1), 2).map(({ soak }) => soak), [2, 2]);
});

const at = (index: number, rest: Partial<WaveState> = {}): WaveState => ({
  ...{ index, soakUntil: null, passed: false, approved: false },
  ...rest,
});
const canary: Difference["rules"] = { waves: [{ upTo: 1, soak: 5 * minute }, { upTo: "100%", soak: 0 }] };
const first = [...members("old", [2, "Ready"]), ...members("new", [1, "Ready"])];
const surge = { desired: { surge: 3 }, budget: { machines: 3 } };

Deno.test("planTurn: admits no more machines than the wave, whatever the budget", () => {
  const pool = [...members("old", [3, "Ready"]), ...members("new", [3, "Held"])];
  deepEqual(planTurn(situationOf(pool, { ...surge, rules: canary })).steps.map(told), [
    "admit new Held 3 for old Ready 1",
  ]);
});

Deno.test("planTurn: begins the soak when the wave is updated, and the next wave after the soak", () => {
  const wave = at(0, { soakUntil: now + 5 * minute, passed: true });
  deepEqual(planTurn(situationOf(first, { rules: canary })).wave, wave);
  const over = at(0, { soakUntil: now, passed: true, approved: true });
  deepEqual(planTurn(situationOf(first, { rules: canary, situation: { wave: over } })).wave, at(1));
});

Deno.test("planTurn: does not finish a wave with an unhealthy machine at the end of its soak", () => {
  const wave = at(0, { soakUntil: now, passed: true });
  const pool = [...members("old", [2, "Ready"]), ...members("new", [1, "NotReady"])];
  deepEqual(planTurn(situationOf(pool, { rules: canary, situation: { wave } })).wave, wave);
});

Deno.test("planTurn: does not finish a wave while machines join or leave", () => {
  const comes = [...first, ...members("new", [1, "Booting"])];
  deepEqual(planTurn(situationOf(comes, { rules: canary })).wave, at(0));
  const goes = [...first, ...members("old", [1, "Leaving", { held: true }])];
  deepEqual(planTurn(situationOf(goes, { rules: canary, busy: { leaving: ["old Leaving 1"] } })).wave, at(0));
});

Deno.test("planTurn: skips an empty wave", () => {
  const rules = { waves: [{ upTo: 1, soak: 0 }, { upTo: "10%", soak: 9 * minute }, { upTo: "100%", soak: 0 }] };
  equal(planTurn(situationOf(first, { rules })).wave.index, 2);
});

Deno.test("planTurn: converges only after the last soak", () => {
  const rules = { waves: [{ upTo: "100%", soak: minute }] };
  const pool = members("new", [3, "Ready"]);
  const soaks = planTurn(situationOf(pool, { rules }));
  deepEqual([soaks.converged, soaks.blocked?.reason, soaks.lookAgainAt], [false, "Soaking", now + minute]);
  const over = at(0, { soakUntil: now, passed: true });
  equal(planTurn(situationOf(pool, { rules, situation: { wave: over } })).converged, true);
});

Deno.test("planTurn: ignores the soaks of waves when no rollout has begun", () => {
  const rules = { waves: [{ upTo: "100%", soak: minute }] };
  equal(planTurn(situationOf(members("new", [3, "Ready"]), { rules, situation: { rolled: false } })).converged, true);
});

Deno.test("planTurn: finishes a wave when only skipped machines remain", () => {
  const pool = [...members("old", [1, "Ready"]), ...members("new", [2, "Ready"])];
  const turn = planTurn(situationOf(pool, { situation: { skipped: ["old Ready 1"] } }));
  deepEqual([turn.wave.index, turn.blocked?.reason], [1, "OnlySkippedRemain"]);
});

Deno.test("planTurn: limits drains by the wave when the surge is 0", () => {
  const pool = members("old", [1, "Ready"], [2, "Leaving", { held: true }]);
  const difference: Difference = { desired: { surge: 0 }, budget: { machines: 3 }, rules: canary };
  deepEqual(planTurn(situationOf(pool, difference)).steps.map(told), ["leave old Leaving 1"]);
  const wave = at(0, { soakUntil: now + minute, passed: true });
  deepEqual(planTurn(situationOf(pool, { ...difference, situation: { wave } })).steps, []);
});
