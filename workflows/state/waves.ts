/** The state of the waves of a rollout. */
import type { CarriedWaves, WaveState } from "../contracts/mod.ts";

/** The next run of the chain gets all fields. */
export type Waves = CarriedWaves;

/** Returns the first wave, not begun. */
export function freshWave(): WaveState {
  return { index: 0, soakUntil: null, passed: false, approved: false };
}

/** Returns the state of the waves before a rollout. */
export function freshWaves(): CarriedWaves {
  return { current: freshWave(), countedBy: null, rolled: false, gates: null };
}

/** Resets the waves to the state before the first wave, for another spec. */
export function beginWaves(waves: Waves): void {
  waves.current = freshWave();
  waves.rolled = false;
  waves.gates = null;
}

/** Returns the name of a wave, counted from 1. */
export function waveName(index: number): string {
  return `wave ${index + 1}`;
}
