/** Where the waves stand. */
import type { CarriedWaves, WaveState } from "../contracts/mod.ts";
import type { Tasks } from "./tasks.ts";

/** All of it is carried. */
export type Waves = CarriedWaves;

/** A wave that nobody has begun. */
export function freshWave(): WaveState {
  return { index: 0, soakUntil: null, passed: false, approved: false };
}

/** Nothing is rolled yet. */
export function freshWaves(): CarriedWaves {
  return { current: freshWave(), countedBy: null, rolled: false, gates: null };
}

/** Goes back before the first wave, for another spec. */
export function beginWaves(waves: Waves): void {
  waves.current = freshWave();
  waves.rolled = false;
  waves.gates = null;
}

/** Adds time that counts for nothing to what gates have that nobody asks at the moment. */
export function postponeWave({ gates }: Waves, { running }: Readonly<Tasks>, ms: number): void {
  const isAsked = Object.values(running).some(({ kind }) => kind === "gates");
  if (!isAsked && gates && gates.since !== null) gates.since += ms;
}
