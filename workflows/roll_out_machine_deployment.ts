/**
 * Brings every machine of one MachineDeployment to what it asks for:
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
import { answerAbort } from "./steps/abort.ts";
import { noteChange, recallEarlier } from "./steps/change.ts";
import type { DesiredState, RollOutInput, RollOutResult } from "./contracts/mod.ts";
import { cleanUp, ended, renewOnly, stop } from "./steps/endings.ts";
import { halt, waitOutage } from "./steps/halt.ts";
import { listen } from "./commands/handlers.ts";
import { parseInput } from "./state/input.ts";
import { prepare, rollProfile } from "./steps/prepare.ts";
import { awaits, read } from "./proxies.ts";
import { index, report, stand } from "./status/report.ts";
import { carriedState, openRollout } from "./state/rollout.ts";
import type { Rollout } from "./state/rollout.ts";
import { giveBackSlots } from "./steps/slots.ts";
import { takeTurn } from "./steps/take_turn.ts";
import { callOff } from "./machine/tasks.ts";
import { troubleOf } from "./steps/trouble.ts";
import { isTurningBack } from "./steps/way_back.ts";

/** Rolls out one MachineDeployment; its id is `machine-deployment/<namespace>/<name>`. */
export async function rollOutMachineDeployment(input: RollOutInput): Promise<RollOutResult> {
  const rollout = openRollout(parseInput(input));
  listen(rollout);
  index(rollout);
  try {
    return await untilNothingIsLeft(rollout, input);
  } catch (error) {
    if (isCancellation(error)) await CancellationScope.nonCancellable(() => stop(rollout));
    throw error;
  }
}

async function untilNothingIsLeft(rollout: Rollout, input: RollOutInput): Promise<RollOutResult> {
  for (;;) {
    if (workflowInfo().continueAsNewSuggested && mayGoOnAfresh(rollout)) await goOnAfresh(rollout, input);
    rollout.nudged = false;
    const result = await round(rollout);
    if (rollout.bug) throw rollout.bug;
    // No await between this look and the return: a late signal then starts a new round, or a new run.
    if (result && !rollout.nudged) return result;
    // Who calls now would else have started a new run, which publishes what cannot be seen to have changed too.
    if (result) rollout.publication = undefined;
  }
}

async function round(rollout: Rollout): Promise<RollOutResult | undefined> {
  try {
    return await advance(rollout);
  } catch (error) {
    const trouble = troubleOf(error);
    if (trouble.kind === "rethrow") throw error;
    if (trouble.kind === "halt") await haltOrWait(rollout, trouble);
    if (trouble.kind === "unreachable") await waitOutage(rollout, trouble.message);
    return undefined;
  }
}

async function advance(rollout: Rollout): Promise<RollOutResult | undefined> {
  await recallEarlier(rollout);
  if (rollout.heard) await showHeard(rollout);
  const seen = await observe(rollout);
  if (seen.state !== "Present") return await leave(rollout, seen.state);
  const { desired, rules } = seen;
  noteChange(rollout, { desired, rules });
  const aborted = await answerAbort(rollout, desired);
  if (aborted) return aborted;
  if (await isTurningBack(rollout, desired)) return undefined;
  await prepare(rollout, desired);
  if (rollout.publishOnly && rollout.startedFor === desired.observed) return await renewOnly(rollout);
  if (await rollProfile(rollout, desired, rules)) return undefined;
  if (await isHeldUp(rollout)) return undefined;
  return await takeTurn(rollout, desired, rollout.rules ?? rules);
}

// Before anything is read: what was left may be desired again by a word.
async function showHeard(rollout: Rollout): Promise<void> {
  rollout.heard = false;
  await report(rollout, rollout.standing).catch((error: unknown) => {
    rollout.heard = true;
    throw error;
  });
}

async function leave(rollout: Rollout, state: "Gone" | "Deleting"): Promise<RollOutResult> {
  rollout.known = true; // whoever asked for something gets an answer
  if (state === "Deleting") return await cleanUp(rollout);
  callOff(rollout, () => true);
  await giveBackSlots(rollout, true);
  return ended(rollout, rollout.cleanedUp ? "Deleted" : "Gone");
}

async function observe(rollout: Rollout): Promise<DesiredState> {
  const { pool, durations } = rollout;
  const seen = await read.readDesired.executeWithOptions({ summary: "Read what is desired" }, [{ pool }]);
  if (seen.state !== "Present" || seen.desired.settled) return seen;
  const message = `Waiting for machine-controller to number generation ${seen.desired.generation}`;
  const until = Date.now() + durations.settle;
  rollout.desired ??= seen.desired;
  stand(rollout, { phase: "Preparing", reason: "Settling", message, until });
  return await awaits.awaitDesiredSettled.executeWithOptions({ summary: message }, [{ pool, until }]);
}

/** Tells what a task stopped with, and waits; true when the world has to be read again. */
async function isHeldUp(rollout: Rollout): Promise<boolean> {
  const mishaps = rollout.mishaps.splice(0);
  // All of them at once: in an outage every task stops with the same.
  const mishap = mishaps.find(({ kind }) => kind === "halt") ?? mishaps[0];
  if (mishap?.kind === "halt") await haltOrWait(rollout, mishap);
  if (mishap?.kind === "unreachable") await waitOutage(rollout, mishap.message);
  return mishap !== undefined;
}

// A step that ran out of time while its MachineDeployment went away is no reason to halt.
async function haltOrWait(rollout: Rollout, trouble: { reason: string; message: string }): Promise<void> {
  await halt(rollout, trouble.reason, trouble.message).catch(async (error: unknown) => {
    const second = troubleOf(error);
    if (second.kind === "rethrow") throw error;
    await waitOutage(rollout, trouble.message);
  });
}

// Who asked for something while the API was out of reach waits for an answer, which only a round can give.
function mayGoOnAfresh({ recalled, known }: Rollout): boolean {
  return recalled && (known || allHandlersFinished());
}

// Tasks are begun again by the next run: it finds in the world, and in what is carried, where they stood.
async function goOnAfresh(rollout: Rollout, input: RollOutInput): Promise<void> {
  await tellRest(rollout);
  // Somebody may have asked meanwhile, whom only a round can answer.
  if (!mayGoOnAfresh(rollout)) return;
  await condition(allHandlersFinished);
  callOff(rollout, () => true);
  await continueAsNew<typeof rollOutMachineDeployment>({ ...input, carried: carriedState(rollout) });
}

// Events, and what people asked for, are not carried; out of reach, they are given up.
async function tellRest(rollout: Rollout): Promise<void> {
  if (!rollout.heard && rollout.news.length === 0) return;
  await report(rollout, rollout.standing).catch((error: unknown) => {
    if (troubleOf(error).kind === "rethrow") throw error;
  });
}
