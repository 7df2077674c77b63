/** Changes of a policy or a pool during waves: no gate is skipped, and finished waves stay finished. */
import { deepEqual, equal } from "node:assert/strict";
import type { Gate, Member, Rules, WaveCount, WaveState } from "../../../../workflows/contracts/mod.ts";
import { planTurn } from "../../../../workflows/policy/plan_turn.ts";
import type { Turn } from "../../../../workflows/policy/turn.ts";
import { members, minute, now, situationOf, told } from "./simulation/picture.ts";
import type { Difference } from "./simulation/picture.ts";

type Waves = Pick<Rules, "waves" | "growth">;

const gate: Gate = {
  ...{ name: "g", run: "EachWave", within: 1 },
  check: { kind: "NodeCondition", type: "x", status: "True" },
};
const listed = (...upTo: (number | string)[]): Waves => ({
  ...{ waves: upTo.map((each) => ({ upTo: each, soak: minute })), growth: null },
});
const doubling: Waves = { waves: [], growth: { from: 1, factor: 2, soak: minute } };
const at = (index: number, rest: Partial<WaveState> = {}): WaveState => ({
  ...{ index, soakUntil: null, passed: false, approved: false },
  ...rest,
});

interface Story {
  updated: number;
  old?: number;
  wave: WaveState;
  /** The waves and replicas that `wave.index` refers to; the state of earlier versions of Ostler does not have them. */
  before?: Waves & Partial<WaveCount>;
  rules: Waves & Partial<Rules>;
  replicas?: number;
  skipped?: string[];
}

function turnOf({ updated, old = 0, wave, before, rules, replicas = 20, skipped = [] }: Story): Turn {
  const pool: Member[] = [...members("old", [old, "Ready"]), ...members("new", [updated, "Ready"])];
  const waiting = old > 0 ? members("new", [replicas, "Held"]) : [];
  const difference: Difference = {
    ...{ desired: { replicas, surge: 20 }, budget: { machines: 20 }, rules: { gates: [gate], ...rules } },
    situation: { wave, skipped, countedBy: before && { replicas: 20, ...before } },
  };
  return planTurn(situationOf([...pool, ...waiting], difference));
}

const soaked = { soakUntil: now - 1, passed: true, approved: true };

const back: [name: string, story: Story, wave: WaveState, admitted: number][] = [
  [
    "continues in the first incomplete wave when the policy lists fewer waves",
    { updated: 15, old: 5, wave: at(4), before: doubling, rules: listed("25%", "90%", "100%") },
    ...[at(1), 3] as const,
  ],
  [
    "continues in the first incomplete wave when the previous waves are unknown",
    { updated: 15, old: 5, wave: at(4), rules: listed("25%", "90%", "100%") },
    ...[at(1), 3] as const,
  ],
  [
    "returns to an earlier wave when the pool shrinks and the current wave becomes empty",
    { updated: 4, old: 1, wave: at(1), before: { ...listed(5, 6), replicas: 6 }, rules: listed(5, 6), replicas: 5 },
    ...[at(0), 1] as const,
  ],
  [
    "returns to the first incomplete wave when the policy lists larger waves",
    { updated: 3, old: 17, wave: at(2, soaked), before: listed(1, 2, 3, "100%"), rules: listed("25%", "50%", "100%") },
    ...[at(0), 2] as const,
  ],
  [
    "resets the gates and the soak of a wave that becomes larger",
    { updated: 2, old: 18, wave: at(1, soaked), before: listed(1, 2, "100%"), rules: listed(1, "50%", "100%") },
    ...[at(1), 8] as const,
  ],
  [
    "reopens the last wave for machines that are no longer skipped",
    { updated: 18, old: 2, wave: at(2), before: listed(1, "100%"), rules: listed(1, "100%") },
    ...[at(1), 2] as const,
  ],
];

for (const [name, story, wave, admitted] of back) {
  Deno.test(`planTurn: ${name}`, () => {
    const turn = turnOf(story);
    deepEqual(turn.wave, wave);
    equal(turn.steps.filter(({ kind }) => kind === "admit").length, admitted);
  });
}

const gated: [name: string, story: Story, steps: string[]][] = [
  ["all machines are updated and fewer waves are listed", {
    ...{ updated: 20, wave: at(4), before: doubling, rules: listed("100%") },
  }, ["gates 0"]],
  ["more waves are listed before the current one", {
    ...{ updated: 5, old: 15, wave: at(1), before: listed(1, "100%"), rules: listed(1, 2, 5, "100%") },
  }, ["gates 1"]],
  ["the pool becomes smaller than the wave", {
    ...{ updated: 8, wave: at(4), before: { ...doubling, replicas: 20 }, rules: doubling, replicas: 5 },
  }, ["gates 2"]],
];

for (const [name, story, steps] of gated) {
  Deno.test(`planTurn: evaluates the gates that are due when ${name}`, () => {
    deepEqual(turnOf(story).steps.map(told), steps);
  });
}

const done: [name: string, story: Story][] = [
  ["more waves are listed", { updated: 20, wave: at(1), before: listed("100%"), rules: listed(1, "50%", "100%") }],
  ["fewer waves are listed", { updated: 20, wave: at(3), before: listed(1, "50%", "100%"), rules: listed("100%") }],
  ["the pool grows, and with it the number of waves", {
    ...{ updated: 20, wave: at(5), before: doubling, rules: doubling, replicas: 100 },
  }],
  ["a machine is lost", { updated: 19, wave: at(2), before: listed(1, "100%"), rules: listed(1, "100%") }],
  ["only skipped machines are old", {
    ...{ updated: 19, old: 1, wave: at(2), before: listed(1, "100%"), rules: listed(1, "50%", "100%") },
    skipped: ["old Ready 1"],
  }],
];

for (const [name, story] of done) {
  Deno.test(`planTurn: does not open a finished wave again when ${name}`, () => {
    const first = turnOf(story);
    const second = turnOf({ ...story, wave: first.wave, before: { ...story.rules, replicas: story.replicas ?? 20 } });
    deepEqual(second.wave, first.wave);
    for (const { steps, blocked } of [first, second]) {
      deepEqual(steps.filter(({ kind }) => kind === "gates"), []);
      equal(blocked?.reason === "Soaking", false);
    }
  });
}

Deno.test("planTurn: keeps the current wave while policies conflict", () => {
  const rules = { ...listed("100%"), conflict: "a and b" };
  const turn = turnOf({ updated: 15, old: 5, wave: at(4), before: doubling, rules });
  deepEqual([turn.wave, turn.steps, turn.blocked?.reason], [at(4), [], "PolicyConflict"]);
});

Deno.test("planTurn: finishes no wave while policies conflict", () => {
  const rules = { ...listed("100%"), conflict: "a and b" };
  const turn = turnOf({ updated: 20, wave: at(1), before: listed(1, "100%"), rules });
  deepEqual([turn.wave, turn.converged, turn.blocked?.reason], [at(1), false, "PolicyConflict"]);
});

Deno.test("planTurn: keeps the current wave when only later waves change", () => {
  const wave = at(1, { soakUntil: now + minute, passed: true, approved: true });
  const rules = listed("10%", "50%", "80%", "100%");
  const before = listed("10%", "50%", "100%");
  for (const updated of [9, 10]) deepEqual(turnOf({ updated, old: 10, wave, before, rules }).wave, wave);
});

Deno.test("planTurn: keeps the soak of the current wave when only the soaks of the policy change", () => {
  const wave = at(0, { soakUntil: now + minute, passed: true });
  const before = listed("25%", "100%");
  const rules = { waves: [{ upTo: "25%", soak: 9 * minute }, { upTo: "100%", soak: 0 }], growth: null };
  deepEqual(turnOf({ updated: 5, old: 15, wave, before, rules }).wave, wave);
});
