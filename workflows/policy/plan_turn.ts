/** The planner of a pool: a pure function of the desired state, the rules and the current machines. */
import { admissionsOf } from "./admissions.ts";
import { asideBlock, blocksOf, illBlock, lookAtWindows, remainderBlocks, unclearBlock, waitsForOf } from "./blocks.ts";
import { spent } from "./budget.ts";
import { censusOf } from "./census.ts";
import { leavesOf, type Repairs, repairsOf, sparesOf, withRemovals } from "./departures.ts";
import type { Blocked, Situation, Step, Turn } from "./turn.ts";
import { updatesOf } from "./updates.ts";
import { lookAtWaves } from "./waves.ts";
import type { WaveLook } from "./waves.ts";

/** Returns all steps that may begin now, the state of the waves, and the main reason why no further step may begin. */
export function planTurn(situation: Situation): Turn {
  const { turn, blocks } = evaluate(situation);
  return { ...turn, blocked: blocks[0] ?? null };
}

/** Returns all reasons that would block the next steps, the strongest first. */
export function blockersOf(situation: Situation): Blocked[] {
  return evaluate(situation).blocks;
}

function evaluate(given: Situation): { turn: Omit<Turn, "blocked">; blocks: Blocked[] } {
  const situation = withRemovals(given);
  const census = censusOf(situation);
  const budget = spent(situation, census);
  const wave = lookAtWaves(situation, census);
  const held = blocksOf(situation, wave);
  const isFull = census.started >= wave.upTo;
  const room = { budget, upTo: wave.upTo, open: held.length === 0 };
  const admissions = admissionsOf(situation, { census, ...room });
  const updates = updatesOf(situation, { census, ...room });
  const repairs = repairsOf(situation, census, { ...room, open: room.open && !isFull });
  const steps: Step[] = [
    ...sparesOf(situation, census, updates.steps),
    ...leavesOf(situation, census, room),
    ...repairs.steps,
    ...admissions.steps,
    ...updates.steps,
    ...(wave.gatesDue ? [{ kind: "gates" as const, wave: wave.state.index, upTo: wave.upTo }] : []),
  ];
  // An unhealthy machine may be Ready, so the pool has not converged while a repair is pending.
  const isWell = repairs.next === null && !repairs.tooMany;
  // A failed change has not converged even if all its machines exist.
  const isHeld = situation.quarantined && !situation.rollingBack;
  const converged = isWell && !isHeld && isConverged(situation, { wave, steps });
  const isSpent = admissions.isSpent || updates.isSpent;
  const isAside = isSpent && situation.setAside.length > 0 && census.joins + census.going === 0;
  const blocks = converged ? [] : [
    ...(isUnfinished(situation, wave) ? held : []),
    ...(repairs.tooMany ? [illBlock(situation, census)] : []),
    ...(isAside ? [asideBlock(situation.setAside)] : remainderBlocks(situation, census)),
    ...[unclearBlock(situation.pool)].filter((each) => each !== undefined),
  ];
  const waitsFor = waitsForOf(situation, { census, budget, wave, blocks, isSpent });
  const lookAgainAt = nextLook(situation, { wave, blocks, repairs });
  return { turn: { steps, wave: wave.state, converged, waitsFor, lookAgainAt }, blocks };
}

// Returns whether the blocks of a rollout, such as windows and approvals, apply. They do not block repairs and scaling,
// which are not a rollout.
function isUnfinished({ pool, paused, quarantined, rolled }: Situation, wave: WaveLook): boolean {
  return pool.counts.old > 0 || pool.waiting.length > 0 || (rolled && !wave.done) || paused || quarantined;
}

function isConverged(situation: Situation, { wave, steps }: { wave: WaveLook; steps: Step[] }): boolean {
  const { pool, desired, busy, booting, updatesBegun = {} } = situation;
  const kept = Object.keys(booting).length + Object.keys(updatesBegun).length;
  const isBusy = busy.joining.length + busy.leaving.length + busy.repairing.length + kept > 0;
  const { machines, updatedReady } = pool.counts;
  const isThere = machines === desired.replicas && updatedReady === desired.replicas;
  return isThere && !isBusy && steps.length === 0 && wave.done;
}

function nextLook(
  situation: Situation,
  { wave, blocks, repairs }: { wave: WaveLook; blocks: Blocked[]; repairs: Repairs },
): number | null {
  const { rules, now, pool } = situation;
  const closes = pool.counts.old > 0 && blocks.length === 0 ? lookAtWindows(rules.windows, now).closes : null;
  const times = [wave.state.soakUntil, repairs.next, closes, ...blocks.map(({ until }) => until)];
  const ahead = times.filter((time) => time !== null && time > now);
  return ahead.length > 0 ? Math.min(...ahead as number[]) : null;
}
