/**
 * A pool's way from a change to converged, for a pool of any kind:
 *   read what is desired → render → publish → look at the machines, begin what may begin, until nothing is left to do.
 * Each round looks at the world afresh, so a restart, a partition or a newer change needs no case of its own.
 * Invariants: no machine goes before enough others are Ready; no more are out or changing than the budget says; every
 * wait has a deadline; a run ends only when the pool has converged, has gone back, was aborted, or is gone.
 */
import {
  allHandlersFinished,
  CancellationScope,
  condition,
  continueAsNew,
  isCancellation,
  workflowInfo,
} from "@temporalio/workflow";
import { dropPlan, planWhereAsked } from "./commands/review_approval.ts";
import { listen } from "./commands/handlers.ts";
import type { Desired, RollOutInput, RollOutResult, Rules } from "./contracts/mod.ts";
import { missedIn, noteMissed } from "./machine/remove_machine.ts";
import { callOff } from "./machine/tasks.ts";
import { publish, tellAlone } from "./proxies.ts";
import { carriedState, parseInput } from "./state/input.ts";
import { countBug, forgetBugs, isBehind } from "./state/loop.ts";
import { openRollout, type Part, type Rollout, type Seen, type Telling } from "./state/rollout.ts";
import { isIdle, type Tasks } from "./state/tasks.ts";
import { indexAtStart, report, show, type Teller } from "./status/report.ts";
import { answerAbort, restoreLastGood } from "./steps/rollback.ts";
import { beginSteps, forgetTaken, look, noteWaves, planOf } from "./steps/plan.ts";
import { noteChange, observe, prepare, recallEarlier, rollProfile } from "./steps/prepare.ts";
import { cleanUp, converge, endGone, hearLast, renewOnly, stop } from "./steps/endings.ts";
import { halt } from "./steps/halt.ts";
import { isToKeep, keepMachines } from "./steps/keep_machines.ts";
import { answerMishaps, postponeAll, waitOver } from "./steps/mishaps.ts";
import { bugIn, waitAfterBug } from "./steps/internal_error.ts";
import { isGivenUp } from "./machine/quarantine.ts";
import { noteSettling, restAndTell } from "./steps/rest.ts";
import { giveBackSlots } from "./machine/slots.ts";
import { troubleOf } from "./state/trouble.ts";

/** Rolls out the pool that the input names, until nothing is left to do. */
export async function rollOutPool(input: RollOutInput): Promise<RollOutResult> {
  const rollout = openRollout(parseInput(input));
  listen(rollout);
  indexAtStart(rollout);
  try {
    await waitAfterBug(rollout);
    return await untilNothingIsLeft(rollout, input);
  } catch (error) {
    if (isCancellation(error)) return await endCancelled(rollout, input, error);
    const bug = bugIn(error);
    if (bug === undefined) throw error;
    return await goOnAfterBug(rollout, input, bug);
  }
}

// A change that was told while it stopped would be nobody's: who calls has done so. It is for a run of its own.
async function endCancelled(rollout: Rollout, input: RollOutInput, why: unknown): Promise<never> {
  const { loop, target } = rollout;
  const before = Math.max(loop.announced, target.desired?.generation ?? 0);
  await CancellationScope.nonCancellable(() => stop(rollout)).catch((error: unknown) => {
    if (bugIn(error) === undefined) throw error; // what broke here would break again: it ends all the same
  });
  if (!allHandlersFinished()) await answerWaiting(rollout, "the rollout was cancelled");
  // Where nothing was known before, what is only told again undoes no cancellation.
  const known = before || (target.desired?.generation ?? 0);
  const { carried: _, publishOnly: __, ...anew } = input;
  if (loop.announced > known) await continueAsNew<typeof rollOutPool>(anew);
  throw why;
}

async function untilNothingIsLeft(rollout: Rollout, input: RollOutInput): Promise<RollOutResult> {
  const { loop, target } = rollout;
  for (;;) {
    if (workflowInfo().continueAsNewSuggested && mayGoOnAfresh(rollout)) await goOnAfresh(rollout, input);
    loop.nudged = false;
    const result = await round(rollout);
    if (loop.thrown) throw loop.thrown;
    // No await between this look and the return: a late signal then starts a new round, or a new run.
    const seen = result?.outcome === "Converged" ? target.desired?.observed : undefined;
    if (result && !isBehind(loop, seen)) return result;
    // Who calls now would else have started a new run, which publishes what cannot be seen to have changed too.
    if (result) target.publication = undefined;
  }
}

async function round(rollout: Rollout): Promise<RollOutResult | undefined> {
  const begun = Date.now();
  try {
    return await reconcile(rollout);
  } catch (error) {
    const trouble = troubleOf(error);
    if (trouble.kind === "rethrow") throw error;
    await waitOver(rollout, trouble);
    if (trouble.kind === "unreachable") postponeAll(rollout, Date.now() - begun);
    return undefined;
  }
}

/** One round: what is desired is read, published and answered; then the machines have their turn. */
async function reconcile(rollout: Rollout): Promise<RollOutResult | undefined> {
  const { settings, target } = rollout;
  await recallEarlier(rollout);
  if (rollout.people.heard) await showHeard(rollout);
  const seen = await observe(rollout);
  if (seen.state !== "Present") return await endWithoutPool(rollout, seen.state);
  const { desired, rules } = seen;
  noteChange(rollout, { desired, rules });
  const aborted = await answerAbort(rollout, desired);
  if (aborted) return aborted;
  if (await restoreLastGood(rollout, desired) === "LookAgain") return undefined;
  await prepare(rollout, desired);
  if (settings.publishOnly && target.startedFor === desired.observed) return await renewOnly(rollout);
  if (await rollProfile(rollout, desired, rules) === "Stamped") return undefined;
  const held = target.rules ?? rules;
  if (isToKeep(rollout, desired, held) && await keepMachines(rollout, desired, held) === "LookAgain") return undefined;
  if (await answerMishaps(rollout) === "LookAgain") return undefined;
  return await takeTurn(rollout, desired, held);
}

/** Looks at the machines, begins what the plan names, and rests; gives a result when nothing is left to do. */
async function takeTurn(rollout: Rollout, desired: Desired, rules: Rules): Promise<RollOutResult | undefined> {
  const { waves, view, memory, tasks, loop } = rollout;
  const pool = await look(rollout, desired, rules);
  forgetTaken(rollout, pool);
  const missed = missedIn(pool, rollout);
  if (missed.length > 0) await noteMissed(rollout, missed);
  await giveBackSlots(rollout);
  await planWhereAsked(rollout, desired, rules);
  // Given up while this was read: a turn on the way back is planned by what it leads to.
  if (memory.rollback && isGivenUp(rollout)) return undefined;
  const found = { desired, rules, pool };
  const turn = planOf(rollout, found);
  const before = waves.current;
  noteWaves(rollout, turn, found);
  const dropped = dropPlan(rollout, before);
  view.blocked = turn.blocked;
  const teller = holdBack(tasks);
  try {
    view.blocked = await beginSteps(rollout, turn.steps) ?? turn.blocked;
    if (turn.converged) return await converge(rollout, desired);
    if (dropped === "Dropped") await planWhereAsked(rollout, desired, rules);
    const settling = noteSettling(rollout, turn, pool);
    if (settling !== "InTime") return void await halt(rollout, "SettleExpired", settling.overdue);
    loop.hasNewStage = false;
    await show(rollout, turn, teller);
  } finally {
    tasks.areHeld = false;
  }
  await restAndTell(rollout, turn, pool);
  return undefined;
}

/**
 * With nothing under way, what begins is told before its first step: in the workflow task that has looked, as nothing can
 * come between then. Gives who tells.
 */
function holdBack(tasks: Tasks): Teller {
  tasks.areHeld = isIdle(tasks);
  return tasks.areHeld ? tellAlone : publish;
}

// Before anything is read: what was left may be desired again by a word.
async function showHeard(rollout: Telling & Part<"people">): Promise<void> {
  const { people, view } = rollout;
  people.heard = false;
  await report(rollout, view.standing).catch((error: unknown) => {
    people.heard = true;
    throw error;
  });
}

async function endWithoutPool(rollout: Rollout, state: "Gone" | "Deleting"): Promise<RollOutResult> {
  rollout.target.known = true; // whoever asked for something gets an answer
  return await (state === "Deleting" ? cleanUp(rollout) : endGone(rollout));
}

// Who asked for something while the API was out of reach waits for an answer, which only a round can give.
function mayGoOnAfresh({ memory, target }: Seen<"memory" | "target">): boolean {
  return memory.recalled && (target.known || allHandlersFinished());
}

// Tasks are begun again by the next run: it finds in the world, and in what is carried, where they stood.
async function goOnAfresh(rollout: Rollout, input: RollOutInput): Promise<void> {
  await tellRest(rollout);
  // Somebody may have asked meanwhile, whom only a round can answer.
  if (!mayGoOnAfresh(rollout)) return;
  await condition(allHandlersFinished);
  callOff(rollout.tasks, () => true);
  forgetBugs(rollout.loop);
  await continueAsNew<typeof rollOutPool>({ ...input, carried: carriedState(rollout) });
}

// In a history of its own, which a version without the fault can follow; this one it could not.
async function goOnAfterBug(rollout: Rollout, input: RollOutInput, bug: string): Promise<never> {
  countBug(rollout.loop, bug, rollout.settings.durations.recheck);
  await hearLast();
  const why = `an internal error ended the run before it read the pool: ${bug}`;
  if (!allHandlersFinished()) await answerWaiting(rollout, why);
  callOff(rollout.tasks, () => true);
  return await continueAsNew<typeof rollOutPool>({ ...input, carried: carriedState(rollout) });
}

// What a signal asked for is carried; who waits for an answer gets one.
async function answerWaiting({ loop }: Part<"loop">, why: string): Promise<void> {
  loop.over = why;
  await CancellationScope.nonCancellable(() => condition(allHandlersFinished));
}

// Events, and what people asked for, are not carried; out of reach, they are given up.
async function tellRest(rollout: Telling): Promise<void> {
  if (!rollout.people.heard && rollout.view.news.length === 0) return;
  await report(rollout, rollout.view.standing).catch((error: unknown) => {
    if (troubleOf(error).kind === "rethrow") throw error;
  });
}

// Brings every machine of one MachineDeployment to what it asks for: the entry by its name on the wire.

/** Rolls out one MachineDeployment; its id is `machine-deployment/<namespace>/<name>`. */
export async function rollOutMachineDeployment(input: RollOutInput): Promise<RollOutResult> {
  return await rollOutPool(input);
}

// Brings every machine of one scaling group to what its NodeVersion asks for: the entry by its name on the wire.

/** Rolls out one ScalingGroup; its id is `scaling-group/<name>`. */
export async function rollOutScalingGroup(input: RollOutInput): Promise<RollOutResult> {
  return await rollOutPool(input);
}
