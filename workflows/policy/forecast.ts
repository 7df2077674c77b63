/** What a rollout would do from here: the run's own planner, played forward over a virtual pool with a virtual clock. */
import type { Desired, Member, Memory, PoolKind, RolloutPlan, Rules } from "../contracts/mod.ts";
import { machinesOf } from "./amounts.ts";
import { staysOf } from "./blocks.ts";
import { blockersOf, planTurn } from "./plan_turn.ts";
import { planHash } from "./plan_hash.ts";
import { planTerms } from "./plan_terms.ts";
import type { Supplier } from "./supplier/supplier.ts";
import { supplierOf } from "./supplier/supplier_of.ts";
import type { Situation } from "./turn.ts";
import { quantile, usualReplacement } from "./usual.ts";
import { VirtualPool } from "./virtual_pool.ts";
import type { Pace } from "./virtual_pool.ts";
import { waveTargets } from "./waves.ts";

export interface ForecastQuestion {
  /** Epoch ms. */
  now: number;
  /** Of the pool; absent is the usual one. */
  kind?: PoolKind;
  desired: Desired;
  rules: Rules;
  memory: Memory;
  /** All of them, in the order of going. */
  members: readonly Member[];
}

type Question = ForecastQuestion & { supplier: Supplier };

/**
 * Order, waves, what blocks at the start, and how long it takes: with every machine as fast as the median of those
 * before, to all as slow as the slowest tenth. People are taken to approve and resume at once. Names every machine.
 */
export function forecast(asked: ForecastQuestion, supplier = supplierOf(asked.kind)): RolloutPlan {
  const kept = keptText(asked);
  // Who stays goes in no wave.
  const question = { ...asked, supplier, members: kept ? [] : asked.members };
  const { desired, rules, members } = question;
  // Nothing about time may change the order that a hash stands for.
  const timeless = { ...rules, windows: null, waves: rules.waves.map(({ upTo }) => ({ upTo, soak: 0 })) };
  const { order } = play({ ...question, rules: timeless }, { join: 1000, leave: 1000 });
  const waves = waveTargets(rules, desired.replicas).map(({ soak }, index) => {
    const machines = order.filter(({ wave }) => wave === index).map(({ id }) => id);
    return { size: machines.length, machines, soakSeconds: soak / 1000 };
  });
  const terms = planTerms(supplier, desired, rules);
  const stays = staysOf(members, desired.templateHash);
  return {
    hash: planHash([terms, rules.source, rules.conflict, waves]),
    waves,
    blocked: [...(kept ?? []), ...blockersOf(situationOf(question)).map(({ message }) => message)],
    ...(stays.length > 0 ? { stays } : {}),
    seconds: kept ? null : rangeOf(question),
    machines: asked.members.filter(({ phase }) => phase !== "Leaving").length,
    terms,
  };
}

/** Why machines are replaced by none, as another image may not do that; undefined where they are, or one is of that image. */
function keptText({ kind, desired, rules, members }: ForecastQuestion): string[] | undefined {
  if (rules.onImageChange !== "InPlace" || kind !== undefined) return undefined;
  const old = members.filter(({ templateHash }) => templateHash !== desired.templateHash);
  if (old.every(({ image }) => image === desired.image)) return undefined;
  const todo = "their nodes follow NodePools, or it halts as ReplacementRefused";
  return [`onImageChange is InPlace: no machine is replaced for image ${desired.image}; ${todo}`];
}

function rangeOf(question: Question): RolloutPlan["seconds"] {
  const { join, leave } = question.memory.usual;
  if (join.length === 0) return null;
  const paceAt = (q: number): Pace => ({ join: quantile(join, q) * 1000, leave: quantile(leave, q) * 1000 });
  const ends = [0.5, 0.9].map((q) => play(question, paceAt(q)).end);
  if (ends.includes(Infinity)) return null;
  const [low, high] = [Math.min(...ends), Math.max(...ends)].map((end) => Math.ceil((end - question.now) / 1000));
  return { low: low ?? 0, high: high ?? 0 };
}

function situationOf(question: Question): Situation {
  const { memory, desired } = question;
  const first = play(question, { join: 1000, leave: 1000 }, 0).situation;
  const quarantined = memory.quarantine.some(({ specHash }) => specHash === desired.specHash);
  return { ...first, rules: question.rules, paused: memory.paused !== null, quarantined, approved: false };
}

interface Played {
  /** Victims in the order they were chosen, and the wave each goes in. */
  order: { id: string; wave: number }[];
  /** Epoch ms; Infinity when it does not end by itself. */
  end: number;
  situation: Situation;
}

/** Far more than any rollout takes: a play that goes round must not keep its process from everything else. */
function turnsAtMost({ desired, members }: ForecastQuestion): number {
  return 1000 + 100 * (desired.replicas + members.length);
}

/** Plays turns until it has converged, nothing moves any more, or `turns` are over. */
function play(question: Question, pace: Pace, turns = turnsAtMost(question)): Played {
  const { supplier, desired, rules, members, memory, now } = question;
  const { machines, perZone, zones } = rules.budget;
  const isZoned = perZone !== null || zones === "OneAfterAnother";
  const limit = isZoned ? Infinity : Math.max(20, 2 * machinesOf(machines, desired.replicas));
  const pool = new VirtualPool({ supplier, desired, pace, now, members, limit });
  const chosen = new Map<string, number>();
  let situation: Situation = {
    ...{ now, supplier, desired, rules: { ...rules, conflict: null }, pool: pool.snapshot(), booting: {}, retries: [] },
    busy: { joining: [...pool.joining.keys()], leaving: [], repairing: [] },
    ...{ rolled: pool.snapshot().counts.old > 0, skipped: [], setAside: [], usual: usualReplacement(memory.usual) },
    wave: { index: 0, soakUntil: null, passed: false, approved: false },
    ...{ paused: false, quarantined: false, rollingBack: false, approved: true },
  };
  for (let turn = 0; turn < turns; turn++) {
    const next = playTurn(pool, situation, chosen);
    if (next === "converged") return { order: orderOf(chosen), end: situation.now, situation };
    if (next === "stuck") break;
    situation = next;
  }
  return { order: orderOf(chosen), end: Infinity, situation };
}

function orderOf(chosen: Map<string, number>): Played["order"] {
  return [...chosen].map(([id, wave]) => ({ id, wave }));
}

function playTurn(
  pool: VirtualPool,
  situation: Situation,
  chosen: Map<string, number>,
): Situation | "converged" | "stuck" {
  const turn = planTurn(situation);
  if (turn.converged) return "converged";
  const { now, desired } = situation;
  let wave = { ...turn.wave, approved: true };
  for (const step of turn.steps) {
    if (step.kind === "gates") wave = { ...wave, passed: true };
    if (step.kind === "leave") {
      if (step.machine.templateHash !== desired.templateHash) note(chosen, step.machine.id, wave.index);
      pool.leave(step.machine.id, now);
    }
    if (step.kind === "update") {
      note(chosen, step.machine.id, wave.index);
      pool.update(step.machine.id, now);
    }
    if (step.kind === "repair") pool.repair(step.machine.id);
    if (step.kind !== "admit") continue;
    if (step.victim) note(chosen, step.victim.id, wave.index);
    pool.admit(step.newcomer.id, step.victim?.id, now);
  }
  const isMoved = turn.steps.length > 0 || wave.index > situation.wave.index || !situation.wave.approved;
  const time = isMoved ? now : Math.min(pool.next(), turn.lookAgainAt ?? Infinity);
  if (time === Infinity) return "stuck";
  pool.settle(time);
  const leaving = [...pool.leaving].filter(([, { until }]) => until < Infinity).map(([id]) => id);
  const coming = [...pool.joining.keys()];
  const isInPlace = situation.supplier.capabilities.updates.includes("InPlace");
  const busy = { joining: coming, leaving, repairing: [], updating: isInPlace ? coming : [] };
  return { ...situation, now: time, pool: pool.snapshot(), busy, wave };
}

function note(chosen: Map<string, number>, id: string, wave: number): void {
  if (!chosen.has(id)) chosen.set(id, wave);
}
