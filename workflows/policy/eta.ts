/** When a rollout should be over: an honest guess from what this pool took lately, or nothing. */
import type { Desired, PoolSnapshot, Rules, WaveState } from "../contracts/mod.ts";
import type { Blocked } from "./turn.ts";
import { machinesOf } from "./amounts.ts";
import { quantile } from "./usual.ts";
import { waveTargets } from "./waves.ts";

export interface EtaQuestion {
  now: number;
  rules: Rules;
  /** Machines that may be there above the wanted ones. */
  room: number;
  desired: Desired;
  counts: PoolSnapshot["counts"];
  usual: { join: number[]; leave: number[] };
  wave: WaveState;
  blocked: Blocked | null;
}

/** Epoch ms; null when nothing was measured, or when it is up to a person. */
export function etaOf({ now, rules, room, desired, counts, usual, wave, blocked }: EtaQuestion): number | null {
  if (usual.join.length === 0 || (blocked !== null && blocked.until === null)) return null;
  const start = Math.max(now, blocked?.until ?? now);
  const lanes = Math.max(1, Math.min(machinesOf(rules.budget.machines, desired.replicas), room || 1));
  const each = (quantile(usual.join, 0.5) + quantile(usual.leave, 0.5)) * 1000;
  const soaks = waveTargets(rules, desired.replicas).slice(wave.index + 1).reduce((sum, { soak }) => sum + soak, 0);
  return start + Math.ceil((counts.old + counts.leaving) / lanes) * each + soaks;
}
