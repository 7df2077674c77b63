/** Where the waves stand. */
import type { CarriedWaves, WaveState } from "../contracts/mod.ts";

/** All of it is carried. */
export type Waves = CarriedWaves;

/** A wave that nobody has begun. */
export function freshWave(): WaveState {
  return { index: 0, soakUntil: null, passed: false, approved: false };
}

/** Nothing is rolled yet. */
export function freshWaves(): CarriedWaves {
  return { current: freshWave(), countedBy: null, rolled: false };
}

/** Goes back before the first wave, for another spec. */
export function beginWaves(waves: Waves): void {
  waves.current = freshWave();
  waves.rolled = false;
}
