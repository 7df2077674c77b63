/** The waves of a rollout: how many machines each updates, and when the next one may begin. */
import type { JoinDeadlines, Rules, WaveCount, WaveState } from "../contracts/mod.ts";
import { machinesOf, type Situation } from "./turn.ts";
import { type Census, isIdle } from "./census.ts";

/** A wave in machines: the number of updated machines at its end, and its soak in milliseconds. */
interface WaveTarget {
  upTo: number;
  soak: number;
}

/** Returns all waves in order; `upTo` never decreases, and after the last wave all machines are updated. */
export function waveTargets(rules: Pick<Rules, "waves" | "growth">, replicas: number): WaveTarget[] {
  const targets = rules.growth ? grownTargets(rules.growth, replicas) : listedTargets(rules.waves, replicas);
  const last = targets.at(-1);
  return last && last.upTo >= replicas ? targets : [...targets, { upTo: replicas, soak: 0 }];
}

function listedTargets(waves: Rules["waves"], replicas: number): WaveTarget[] {
  let least = 0;
  return waves.map(({ upTo, soak }) => {
    least = Math.min(replicas, Math.max(least, machinesOf(upTo, replicas)));
    return { upTo: least, soak };
  });
}

function grownTargets({ from, factor, soak }: NonNullable<Rules["growth"]>, replicas: number): WaveTarget[] {
  const targets: WaveTarget[] = [];
  let upTo = 0;
  for (let size = machinesOf(from, replicas); upTo < replicas; size *= factor) {
    upTo = Math.min(replicas, upTo + Math.max(1, Math.ceil(size - 1e-9)));
    targets.push({ upTo, soak });
  }
  return targets;
}

/** Returns the milliseconds of all soaks from the wave `index` on; a wave without machines does not soak. */
export function soaksFrom(rules: Pick<Rules, "waves" | "growth">, replicas: number, index: number): number {
  const targets = waveTargets(rules, replicas);
  const ahead = targets.filter((_, nth) => nth >= index && !isEmpty(targets, nth));
  return ahead.reduce((sum, { soak }) => sum + soak, 0);
}

/** The state of the waves after a read of the pool, and how many machines the current wave may update. */
export interface WaveLook {
  state: WaveState;
  /** Number of machines that may be updated up to and including the current wave; Infinity if waves do not count. */
  upTo: number;
  /** Whether the machines of the wave are updated and its gates are due. */
  gatesDue: boolean;
  /** Whether the current wave soaks. */
  soaking: boolean;
  /** Whether all waves are done, or waves do not count. */
  done: boolean;
}

/**
 * Returns the current wave and its state. Skips each wave whose machines are updated, have passed the gates and have
 * soaked, and waves without machines.
 */
export function lookAtWaves(situation: Situation, census: Census): WaveLook {
  const { rules, desired, rolled, rollingBack, now } = situation;
  const free = { state: situation.wave, upTo: Infinity, gatesDue: false, soaking: false, done: true };
  if (rollingBack || (!rolled && situation.pool.counts.old === 0)) return free;
  const targets = waveTargets(rules, desired.replicas);
  const isGated = rules.gates.some(({ run }) => run === "EachWave");
  for (let state = stateOf(situation, census, targets);; state = waveAt(state.index + 1)) {
    const target = targets[state.index];
    if (!target) return { ...free, state, done: rules.conflict === null };
    if (isEmpty(targets, state.index)) continue;
    const on = { state, upTo: target.upTo, gatesDue: false, soaking: false, done: false };
    // While policies conflict, the gates and the soak of a wave are unknown, so the wave stays open.
    const isOpen = rules.conflict !== null || !isUpdated(situation, census, target);
    if (isOpen) return { ...on, soaking: (state.soakUntil ?? 0) > now };
    if (isGated && !state.passed) return { ...on, gatesDue: true };
    const soakUntil = state.soakUntil ?? now + target.soak;
    if (soakUntil > now) return { ...on, state: { ...state, passed: true, soakUntil }, soaking: true };
  }
}

/**
 * Returns whether the policy now lists other waves than those that a state refers to (`counted`); a different soak does
 * not count.
 */
export function isRelisted(counted: Pick<Rules, "waves" | "growth">, rules: Pick<Rules, "waves" | "growth">): boolean {
  const [before, now] = [counted, rules].map(({ waves, growth }) =>
    JSON.stringify(growth ? [growth.from, growth.factor] : waves.map(({ upTo }) => upTo))
  );
  return before !== now;
}

/**
 * Returns the wave in which to continue. If the policy now lists other waves, or the pool has another size, the index
 * may be invalid. Then the rollout continues in the first wave whose `upTo` is not reached, but never ahead of the
 * present wave, because that would skip gates. Finished waves stay finished.
 */
function stateOf(situation: Situation, census: Census, targets: WaveTarget[]): WaveState {
  const { wave, rules, desired, pool } = situation;
  const counted: WaveCount = situation.countedBy ?? { ...rules, replicas: desired.replicas };
  const before = waveTargets(counted, counted.replicas);
  const wasDone = wave.index >= before.length;
  // A wave that has no machines at the new size of the pool is not a wave any more.
  const isLeft = isEmpty(targets, wave.index) && !isEmpty(before, wave.index);
  const isSame = !isLeft && (!isRelisted(counted, rules) || before[wave.index]?.upTo === targets[wave.index]?.upTo);
  if (rules.conflict !== null || (isSame && !wasDone && wave.index < targets.length)) return wave;
  const next = isOldLeft(situation, census) ? targets.findIndex(({ upTo }) => upTo > pool.counts.updatedReady) : -1;
  if (next >= 0 && (wasDone || next <= wave.index)) return waveAt(next);
  return wasDone ? waveAt(targets.length) : { ...wave, index: Math.min(wave.index, targets.length - 1) };
}

function isEmpty(targets: WaveTarget[], index: number): boolean {
  return (targets[index]?.upTo ?? 0) <= (targets[index - 1]?.upTo ?? 0);
}

function isOldLeft(situation: Situation, { onlyKeptRemain }: Census): boolean {
  const { pool, desired } = situation;
  const waitsToGo = pool.leaving.some((each) => each.templateHash !== desired.templateHash && isIdle(situation, each));
  return !onlyKeptRemain || waitsToGo;
}

function waveAt(index: number): WaveState {
  return { index, soakUntil: null, passed: false, approved: false };
}

function isUpdated({ pool, desired, setAside }: Situation, census: Census, { upTo }: WaveTarget): boolean {
  // While a machine is missing, the next new machine may still be of an old template.
  const isComplete = census.staying + setAside.length >= desired.replicas;
  const isReached = pool.counts.updatedReady >= upTo || (census.onlyKeptRemain && census.idle === 0 && isComplete);
  return isReached && census.joins === 0 && census.going === 0;
}

// The join stages are instance, address, node registered and node Ready; each has its own deadline.

/** How long each join stage may take from the start of the wait, in milliseconds. */
type StageDurations = Record<keyof JoinDeadlines, number>;

/**
 * Returns absolute deadlines of the join stages for a machine that boots from `start` (epoch ms); the deadline of a
 * stage is never before that of an earlier stage.
 */
export function joinDeadlines(start: number, durations: StageDurations): JoinDeadlines {
  const instance = start + durations.instance;
  const address = Math.max(instance, start + durations.address);
  const registered = Math.max(address, start + durations.registered);
  return { instance, address, registered, ready: Math.max(registered, start + durations.ready) };
}
