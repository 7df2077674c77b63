/** The waves of a rollout: how far each goes, and when the next one may begin. */
import type { Rules, WaveState } from "../contracts.ts";
import { machinesOf } from "./amounts.ts";
import type { Census } from "./census.ts";
import type { Situation } from "./turn.ts";

/** A wave in machines: updated ones that it ends with, and the milliseconds of its soak. */
export interface WaveTarget {
  upTo: number;
  soak: number;
}

/** All waves in order; each goes at least as far as the one before, and the last one to all machines. */
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

/** Where the waves stand after a look, and how many machines may be updated in the one that is on. */
export interface WaveLook {
  state: WaveState;
  /** Infinity when waves do not count. */
  upTo: number;
  /** The wave is updated and waits for its gates. */
  gatesDue: boolean;
  soaking: boolean;
  done: boolean;
}

/** Moves on from each wave that is updated, gated and soaked; empty waves are passed over. */
export function lookAtWaves(situation: Situation, census: Census): WaveLook {
  const { rules, desired, rolled, rollingBack, now } = situation;
  const free = { state: situation.wave, upTo: Infinity, gatesDue: false, soaking: false, done: true };
  if (rollingBack || (!rolled && situation.pool.counts.old === 0)) return free;
  const targets = waveTargets(rules, desired.replicas);
  const isGated = rules.gates.some(({ run }) => run === "EachWave");
  for (let state = situation.wave;; state = nextWave(state)) {
    const target = targets[state.index];
    if (!target) return { ...free, state };
    if (target.upTo <= (targets[state.index - 1]?.upTo ?? 0)) continue;
    const on = { state, upTo: target.upTo, gatesDue: false, soaking: false, done: false };
    // Without rules that hold, nobody can say that a wave needs no gate and no soak.
    const isOpen = rules.conflict !== null || !isUpdated(situation, census, target);
    if (isOpen) return { ...on, soaking: (state.soakUntil ?? 0) > now };
    if (isGated && !state.passed) return { ...on, gatesDue: true };
    const soakUntil = state.soakUntil ?? now + target.soak;
    if (soakUntil > now) return { ...on, state: { ...state, passed: true, soakUntil }, soaking: true };
  }
}

function nextWave({ index }: WaveState): WaveState {
  return { index: index + 1, soakUntil: null, passed: false, approved: false };
}

function isUpdated({ pool }: Situation, census: Census, { upTo }: WaveTarget): boolean {
  const isReached = pool.counts.updatedReady >= upTo || (census.onlyKeptRemain && census.idle === 0);
  return isReached && census.joins === 0 && census.going === 0;
}
