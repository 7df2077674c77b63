/** The state of the waves. */
import type { CarriedWaves, WaveState } from "../contracts/mod.ts";
import type { Tasks } from "./tasks.ts";

/** All fields are carried. */
export type Waves = CarriedWaves;

/** Returns a wave that has not begun. */
export function freshWave(): WaveState {
  return { index: 0, soakUntil: null, passed: false, approved: false };
}

/** Returns the waves before a rollout. */
export function freshWaves(): CarriedWaves {
  return { current: freshWave(), countedBy: null, rolled: false, gates: null };
}

/** Returns to before the first wave, for another spec. */
export function beginWaves(waves: Waves): void {
  waves.current = freshWave();
  waves.rolled = false;
  waves.gates = null;
}

/** Extends the time of a wave's gates by `ms` that must not count, if no task evaluates them. */
export function postponeWave({ gates }: Waves, { running }: Readonly<Tasks>, ms: number): void {
  const isAsked = Object.values(running).some(({ kind }) => kind === "gates");
  if (!isAsked && gates && gates.since !== null) gates.since += ms;
}

/** Returns the name of a wave, counted from 1. */
export function waveName(index: number): string {
  return `wave ${index + 1}`;
}
