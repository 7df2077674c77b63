/** Forecast of a rollout: runs the planner of the workflow on a virtual pool with a virtual clock. */
import type {
  Check,
  Desired,
  Member,
  Memory,
  PlanTerms,
  PoolKind,
  PoolSnapshot,
  RolloutPlan,
  Rules,
  WaveState,
} from "../contracts/mod.ts";
import { type Blocked, machinesOf, quantile, type Situation, usualReplacement } from "./turn.ts";
import { staysOf } from "./blocks.ts";
import { inPlaceOf } from "./in_place.ts";
import { blockersOf, planTurn } from "./plan_turn.ts";
import { replaceableAmong } from "./replaced.ts";
import { type Supplier, supplierOf } from "./supplier.ts";
import { type Pace, VirtualPool } from "./virtual_pool.ts";
import { soaksFrom, waveTargets } from "./waves.ts";

interface ForecastQuestion {
  /** Epoch ms. */
  now: number;
  /** Kind of the pool; the default is that of `supplierOf`. */
  kind?: PoolKind;
  desired: Desired;
  rules: Rules;
  memory: Memory;
  /** All machines, in the order of their replacement. */
  members: readonly Member[];
}

type Question = ForecastQuestion & { supplier: Supplier };

/**
 * Returns the plan of a rollout: its waves with all machines in order, what blocks its start, and its duration. The
 * duration is a range, from the median to the 90th percentile of past durations, and assumes that people approve and
 * resume without delay.
 */
export function forecast(asked: ForecastQuestion, supplier = supplierOf(asked.kind)): RolloutPlan {
  const kept = keptText(asked);
  // If the policy keeps the machines, no wave has machines.
  const question = { ...asked, supplier, members: kept ? [] : replaceableAmong(asked.members, asked.rules) };
  const { desired, rules, members } = question;
  // The hash of the plan covers the order of the machines. So windows and soaks are left out here, because times must
  // not change that order.
  const growth = rules.growth && { ...rules.growth, soak: 0 };
  const timeless = { ...rules, windows: null, waves: rules.waves.map(({ upTo }) => ({ upTo, soak: 0 })), growth };
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

/**
 * Returns why no machine is replaced for a new image; undefined if machines are replaced, or if all run the image
 * already.
 */
function keptText({ kind, desired, rules, members }: ForecastQuestion): string[] | undefined {
  if (rules.onImageChange !== "InPlace" || kind !== undefined) return undefined;
  const old = members.filter(({ templateHash }) => templateHash !== desired.templateHash);
  if (old.every(({ image }) => image === desired.image)) return undefined;
  const instead = "NodePools update the nodes; if machines cannot be kept, the rollout halts with ReplacementRefused";
  return [`onImageChange is InPlace, so no machine is replaced for image ${desired.image}; ${instead}`];
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
  /** Replaced machines in the order in which they were chosen, with their wave. */
  order: { id: string; wave: number }[];
  /** Epoch ms; Infinity if the rollout does not end without a person. */
  end: number;
  situation: Situation;
}

/**
 * Returns a limit for the calls of the planner: far more than any rollout takes, so that an endless simulation cannot
 * block its process.
 */
function turnsAtMost({ desired, members }: ForecastQuestion): number {
  return 1000 + 100 * (desired.replicas + members.length);
}

/**
 * Calls the planner and simulates its steps until the pool has converged, nothing changes any more, or the planner was
 * called `turns` times.
 */
function play(question: Question, pace: Pace, turns = turnsAtMost(question)): Played {
  const { supplier, desired, rules, members, memory, now } = question;
  const { machines, perZone, zones } = rules.budget;
  const isZoned = perZone !== null || zones === "OneAfterAnother";
  const limit = Math.max(20, 2 * machinesOf(machines, desired.replicas));
  const pool = new VirtualPool({ supplier, desired, pace, now, members, limit, isZoned });
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

// The terms of a plan that an approval covers.

/**
 * Version of the list of fields that `planTerms` hashes. Hashes of different versions cannot be compared, so an
 * approval of another version stays valid and from then on covers the current terms.
 */
const form = 2;

/**
 * Returns the terms of a plan, which do not change while the rollout proceeds: remaining machines, finished waves, the
 * times of windows, the profile and the name of the policy are excluded. The terms include whether there is room for
 * new machines, but not how much, because a percentage is rounded again whenever the number of machines changes.
 */
export function planTerms(supplier: Supplier, desired: Desired, rules: Rules): PlanTerms {
  const { templateHash, replicas } = desired;
  const hasRoom = supplier.roomOf(desired) > 0;
  return { hash: planHash([templateHash, hasRoom, agreedOf(supplier, rules)]), replicas, form };
}

/**
 * Returns the rules that decide which machines are replaced, in which order and how fast, and what happens to them.
 * Lists each rule by name, so that a rule that a later version adds does not change the hash of an approved plan;
 * such a rule may be listed here only if it is left out at its default value.
 */
function agreedOf(supplier: Supplier, rules: Rules): object {
  const { growth, budget, join, drain, onFailure, maxFailed, approval, onImageChange = "Replace", etcd } = rules;
  // The rules of updates in place do not affect pools whose machines are only replaced.
  const isInPlace = supplier.capabilities.updates.includes("InPlace");
  return {
    waves: rules.waves.map(({ upTo, soak }) => [upTo, soak]),
    growth: growth && [growth.from, growth.factor, growth.soak],
    budget: [budget.machines, budget.perZone, budget.zones, budget.cluster],
    windows: rules.windows !== null,
    join: [join.instance, join.address, join.registered, join.ready, join.gates, join.attempts],
    drain: [drain.timeout, drain.onBlocked, drain.localStorage, drain.order],
    gates: rules.gates.map(({ name, run, within, check }) => [name, run, within, setFieldsOf(check)]),
    ...{ onFailure, maxFailed, approval, onImageChange },
    inPlace: isInPlace ? inPlaceTerms(rules) : null,
    etcd: etcd?.snapshot ?? null,
  };
}

// Returns the fields of a check that are not null: fields that later versions add are null by default, and must not
// change the hash of a check without them.
function setFieldsOf(check: Check): object {
  return Object.fromEntries(Object.entries(check).filter(([, value]) => value !== null));
}

function inPlaceTerms(rules: Rules): unknown[] {
  const { stageAtOnce, stage, boot, soak } = inPlaceOf(rules);
  return [stageAtOnce, stage, boot, soak];
}

/**
 * Returns the approved terms so that they can be compared with the current terms. If no approved terms are known,
 * returns the current terms. If their version differs, returns the current terms with the approved replicas, because
 * hashes of different versions cannot be compared.
 */
export function termsInForm(approved: PlanTerms | null, now: PlanTerms): PlanTerms {
  if (approved === null) return now;
  return approved.form === now.form ? approved : { ...now, replicas: approved.replicas };
}

/**
 * Returns whether the approved terms cover the current terms. A pool that shrinks, or grows back to its approved size,
 * stays covered; otherwise each change by an autoscaler would need a new approval. A pool above its approved size is
 * not covered.
 */
export function isCovered(approved: PlanTerms, now: PlanTerms): boolean {
  return approved.hash === now.hash && now.replicas <= approved.replicas;
}

// A short hash of a plan, so that a stale plan can be recognized.

/** Returns a hash of the value as 16 hex digits, independent of the order of keys; the hash is not cryptographic. */
export function planHash(value: unknown): string {
  const text = canonical(value);
  return `${lane(text, 0x811c9dc5)}${lane(text, 0x9747b28c)}`;
}

function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join(",")}]`;
  if (typeof value !== "object" || value === null) return JSON.stringify(value) ?? "null";
  // JSON drops undefined values, so a process that received the value as JSON would otherwise compute another hash.
  const given = Object.entries(value).filter(([, each]) => each !== undefined);
  const entries = given.sort(([a], [b]) => a < b ? -1 : 1);
  return `{${entries.map(([key, each]) => `${JSON.stringify(key)}:${canonical(each)}`).join(",")}}`;
}

/** Returns 32 bits as 8 hex digits: mixes in each character, then all bits with the finalizer of MurmurHash3. */
function lane(text: string, seed: number): string {
  let bits = seed;
  for (let at = 0; at < text.length; at++) {
    bits = Math.imul(bits ^ text.charCodeAt(at), 0x5bd1e995);
    bits ^= bits >>> 15;
  }
  bits = Math.imul(bits ^ (bits >>> 16), 0x85ebca6b);
  bits = Math.imul(bits ^ (bits >>> 13), 0xc2b2ae35);
  return ((bits ^ (bits >>> 16)) >>> 0).toString(16).padStart(8, "0");
}

// The estimated end of a rollout, only from recent measurements of the pool.

export interface EtaQuestion {
  now: number;
  rules: Rules;
  supplier: Supplier;
  desired: Desired;
  counts: PoolSnapshot["counts"];
  usual: { join: number[]; leave: number[] };
  wave: WaveState;
  blocked: Blocked | null;
  rollingBack: boolean;
}

/**
 * Returns the estimated end (epoch ms); null without measurements, or if the rollout is blocked until an event, such as
 * an action of a person.
 */
export function etaOf(question: EtaQuestion): number | null {
  const { now, rules, desired, counts, usual, wave, blocked, rollingBack } = question;
  if (usual.join.length === 0 || (blocked !== null && blocked.until === null)) return null;
  // A rollback has no waves, and so no soaks.
  const soaksUntil = rollingBack ? now : wave.soakUntil ?? now;
  const next = wave.index + (wave.soakUntil === null ? 0 : 1);
  const soaks = rollingBack ? 0 : soaksFrom(rules, desired.replicas, next);
  const start = Math.max(now, blocked?.until ?? now, soaksUntil);
  const each = (quantile(usual.join, 0.5) + quantile(usual.leave, 0.5)) * 1000;
  return start + Math.ceil((counts.old + counts.leaving) / lanesOf(question)) * each + soaks;
}

// Returns how many machines are replaced or updated at once. If no machine may exist above the replicas, an owner that
// removes machines by itself removes one at a time; in other pools only the budget limits how many are out of service.
function lanesOf({ rules, supplier, desired }: EtaQuestion): number {
  const { updates, removal } = supplier.capabilities;
  const bare = removal === "ByItself" && updates.includes("Replace") ? 1 : Infinity;
  const room = supplier.roomOf(desired) || bare;
  return Math.max(1, Math.min(machinesOf(rules.budget.machines, desired.replicas), room));
}
