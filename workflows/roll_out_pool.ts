/**
 * Rolls out a pool of any kind, from a change to converged:
 * read the desired state → render → publish → read the machines and begin the permitted steps, until nothing is left to
 * do.
 * Each reconcile reads the current state, so that a restart, a partition or a newer change needs no special case.
 * Invariants: no machine is removed before enough others are Ready; no more machines are out or changing than the
 * budget permits; every wait has a deadline. A run ends only when the pool has converged, was rolled back, was aborted,
 * or is gone.
 */
import {
  allHandlersFinished,
  CancellationScope,
  condition,
  continueAsNew,
  isCancellation,
  workflowInfo,
} from "@temporalio/workflow";
import { beginSteps } from "./begin_steps.ts";
import { askApproval } from "./commands/review_approval.ts";
import { listen } from "./commands/handlers.ts";
import type { Desired, RollOutInput, RollOutResult, Rules } from "./contracts/mod.ts";
import { publish, tellAlone } from "./proxies.ts";
import { startClocks, stopClocks } from "./state/clock.ts";
import { carriedState, parseInput } from "./state/input.ts";
import { countBug, forgetBugs, isBehind } from "./state/loop.ts";
import { openRollout, type Part, type Rollout, type Seen, type Telling } from "./state/rollout.ts";
import { isGivenUp } from "./state/quarantine.ts";
import { callOff, isIdle, type Tasks } from "./state/tasks.ts";
import { indexAtStart, report, type Teller } from "./status/report.ts";
import { answerAbort, restoreLastGood } from "./steps/rollback.ts";
import { plan } from "./steps/plan.ts";
import { noteChange, observe, openPool, prepare, recallEarlier, rollProfile } from "./steps/prepare.ts";
import { cleanUp, converge, endGone, hearLast, renewOnly, stop } from "./steps/endings.ts";
import { halt } from "./steps/halt.ts";
import { isToKeep, keepMachines } from "./steps/keep_machines.ts";
import { answerMishaps, postponeSettling, waitOver } from "./steps/mishaps.ts";
import { bugIn, waitAfterBug } from "./steps/internal_error.ts";
import { noteSettling, reportTurn, rest } from "./steps/rest.ts";
import { see } from "./steps/see.ts";
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

// A signal that is received while the run stops would be lost, because its sender does not repeat it. So the run
// continues as new if a signal reports another generation.
async function endCancelled(rollout: Rollout, input: RollOutInput, why: unknown): Promise<never> {
  const { loop, target } = rollout;
  const before = Math.max(loop.announced, target.desired?.generation ?? 0);
  await CancellationScope.nonCancellable(() => stop(rollout)).catch((error: unknown) => {
    if (bugIn(error) === undefined) throw error; // an internal error would occur again, so the run ends all the same
  });
  if (!allHandlersFinished()) await answerWaiting(rollout, "the rollout was cancelled");
  // A repeated signal for a known generation does not undo a cancellation.
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
    // No await may come between this check and the return: a signal that arrives later then starts a new run, so none
    // is lost.
    const seen = result?.outcome === "Converged" ? target.desired?.observed : undefined;
    if (result && !isBehind(loop, seen)) return result;
    // A signal arrived while the run was ending; a moment later it would have started a new run, which publishes in any
    // case. So this run publishes again too, because not every change of a config changes `observed`.
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
    if (trouble.kind === "replan") return undefined;
    stopClocks(rollout, begun);
    postponeSettling(rollout, Date.now() - begun);
    return undefined;
  }
}

/**
 * Reconciles once: reads and publishes the desired state, carries out abort and rollback, then plans the machines.
 * Returns a result when nothing is left to do.
 */
async function reconcile(rollout: Rollout): Promise<RollOutResult | undefined> {
  const { settings, target } = rollout;
  const opened = await openPool(rollout);
  await recallEarlier(rollout);
  if (rollout.people.heard) await showHeard(rollout);
  const seen = await observe(rollout, opened);
  if (seen.state !== "Present") return await endWithoutPool(rollout, seen.state);
  const { desired, rules } = seen;
  noteChange(rollout, { desired, rules });
  const aborted = await answerAbort(rollout, desired);
  if (aborted) return aborted;
  if (await restoreLastGood(rollout, desired) === "LookAgain") return undefined;
  await prepare(rollout, desired, opened?.published);
  if (settings.publishOnly && target.startedFor === desired.observed) return await renewOnly(rollout);
  if (await rollProfile(rollout, desired, rules) === "Stamped") return undefined;
  const held = target.rules ?? rules;
  if (isToKeep(rollout, desired, held) && await keepMachines(rollout, desired, held) === "LookAgain") return undefined;
  if (await answerMishaps(rollout) === "LookAgain") return undefined;
  return await takeTurn(rollout, desired, held);
}

/**
 * Reconciles the machines: read them → review the approval → plan → begin steps → report → wait. Returns a result when
 * nothing is left to do.
 */
async function takeTurn(rollout: Rollout, desired: Desired, rules: Rules): Promise<RollOutResult | undefined> {
  const { memory, tasks } = rollout;
  const pool = await see(rollout, desired, rules);
  await askApproval(rollout, desired, rules);
  // The change was given up during these reads, so the next reconcile restores the last good template before it plans.
  if (memory.rollback && isGivenUp(rollout)) return undefined;
  const { turn, approval } = plan(rollout, { desired, rules, pool });
  const teller = holdBack(tasks);
  try {
    await beginSteps(rollout, turn);
    if (turn.converged) return await converge(rollout, desired);
    if (approval === "Dropped") await askApproval(rollout, desired, rules);
    const settling = noteSettling(rollout, turn, pool);
    if (settling !== "InTime") return void await halt(rollout, "SettleExpired", settling.overdue);
    await reportTurn(rollout, turn, teller);
  } finally {
    tasks.areHeld = false;
  }
  await rest(rollout, turn, pool);
  return undefined;
}

/**
 * If no task is running, makes the new tasks wait until they have been reported, in the same workflow task that read
 * the machines. Returns the activities with which to report.
 */
function holdBack(tasks: Tasks): Teller {
  tasks.areHeld = isIdle(tasks);
  return tasks.areHeld ? tellAlone : publish;
}

// Writes received commands to the Rollout before the next read, which depends on the Rollout. After a rollback, the
// Rollout pins the pool to the last good profile; `retry` ends the pin, so that the abandoned profile is desired again.
async function showHeard(rollout: Telling & Part<"people">): Promise<void> {
  const { people, view } = rollout;
  people.heard = false;
  await report(rollout, view.standing).catch((error: unknown) => {
    people.heard = true;
    throw error;
  });
}

async function endWithoutPool(rollout: Rollout, state: "Gone" | "Deleting"): Promise<RollOutResult> {
  rollout.target.known = true; // pending commands get an answer
  return await (state === "Deleting" ? cleanUp(rollout) : endGone(rollout));
}

// Returns whether the run may continue as new. It must have read the state of earlier runs, and no update of a Temporal
// client may still wait for the first read of the pool, without which it cannot be answered.
function mayGoOnAfresh({ memory, target }: Seen<"memory" | "target">): boolean {
  return memory.recalled && (target.known || allHandlersFinished());
}

// Continues as new. The next run begins the tasks again, and finds their state in the cluster and in the carried state.
async function goOnAfresh(rollout: Rollout, input: RollOutInput): Promise<void> {
  await tellRest(rollout);
  // A Temporal update may have arrived meanwhile, and only a reconcile can answer it.
  if (!mayGoOnAfresh(rollout)) return;
  await condition(allHandlersFinished);
  forgetBugs(rollout.loop);
  await handOver(rollout, input);
}

// Continues as new after an internal error. The next run has a new history, which a fixed version of Ostler can replay;
// it could not replay the history of this run.
async function goOnAfterBug(rollout: Rollout, input: RollOutInput, bug: string): Promise<never> {
  countBug(rollout.loop, bug, rollout.settings.durations.recheck);
  await hearLast();
  const why = `an internal error ended the run before it read the pool: ${bug}`;
  if (!allHandlersFinished()) await answerWaiting(rollout, why);
  return await handOver(rollout, input);
}

async function handOver(rollout: Rollout, input: RollOutInput): Promise<never> {
  callOff(rollout.tasks, () => true);
  startClocks(rollout);
  return await continueAsNew<typeof rollOutPool>({ ...input, carried: carriedState(rollout) });
}

// Refuses the updates that wait for an answer, with `why`: signals are carried to the next run, but only this run can
// answer its updates.
async function answerWaiting({ loop }: Part<"loop">, why: string): Promise<void> {
  loop.over = why;
  await CancellationScope.nonCancellable(() => condition(allHandlersFinished));
}

// Reports pending Events and commands, because the next run would not know them. If the API is unavailable, they are
// lost.
async function tellRest(rollout: Telling): Promise<void> {
  if (!rollout.people.heard && rollout.view.news.length === 0) return;
  await report(rollout, rollout.view.standing).catch((error: unknown) => {
    if (troubleOf(error).kind === "rethrow") throw error;
  });
}

// Brings every machine of one MachineDeployment to its desired template; Temporal knows the workflow by the function's
// name.

/** Rolls out one MachineDeployment; its workflow ID is `machine-deployment/<namespace>/<name>`. */
export async function rollOutMachineDeployment(input: RollOutInput): Promise<RollOutResult> {
  return await rollOutPool(input);
}

// Brings every machine of one scaling group to the version of its NodeVersion; Temporal knows the workflow by the
// function's name.

/** Rolls out one ScalingGroup; its workflow ID is `scaling-group/<name>`. */
export async function rollOutScalingGroup(input: RollOutInput): Promise<RollOutResult> {
  return await rollOutPool(input);
}
