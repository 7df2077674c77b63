/** Describes the waves of a rollout for people. */
import type { Rules, WaveState, WaveView } from "../../contracts/mod.ts";
import { waveTargets } from "../../policy/waves.ts";

/**
 * Returns the state of each wave, from the first to the last; `asking` is whether the gates of the current wave are
 * being evaluated.
 */
export function waveViews(
  { rules, replicas, wave, asking }: { rules: Rules; replicas: number; wave: WaveState; asking: boolean },
): WaveView[] {
  return waveTargets(rules, replicas).map(({ upTo }, index) => {
    const state = index < wave.index ? "Done" : index > wave.index ? "Waiting" : stateOf(wave, asking);
    const soakUntil = state === "Soaking" && wave.soakUntil !== null
      ? new Date(wave.soakUntil).toISOString()
      : undefined;
    return { upTo, state, ...(soakUntil ? { soakUntil } : {}) };
  });
}

function stateOf(wave: WaveState, asking: boolean): WaveView["state"] {
  if (wave.soakUntil !== null) return "Soaking";
  return asking ? "Gates" : "Rolling";
}
