/**
 * Brings every machine of one MachineDeployment to what it asks for:
 *   read what is desired → render → publish → one step at a time, until nothing is left to do.
 * Each round looks at the world afresh, so a restart, a partition or a newer change needs no case of its own.
 * Invariants: what is under way is finished or undone before anything new begins; no machine goes before
 * enough others are Ready; every wait has a deadline; a run ends only when the pool has converged or is gone.
 */
import {
  allHandlersFinished,
  CancellationScope,
  condition,
  continueAsNew,
  isCancellation,
  workflowInfo,
} from "@temporalio/workflow";
import type { DesiredState, RollOutInput, RollOutResult } from "./contracts.ts";
import { abort, cleanUp, ended, renewOnly } from "./endings.ts";
import { halt, waitOutage } from "./halt.ts";
import { listen } from "./handlers.ts";
import { parseInput } from "./input.ts";
import { prepare } from "./prepare.ts";
import { awaits, read } from "./proxies.ts";
import { index, stand } from "./report.ts";
import { carriedState, openRollout } from "./rollout.ts";
import type { Rollout } from "./rollout.ts";
import { take } from "./take_step.ts";
import { troubleOf } from "./trouble.ts";

/** Rolls out one MachineDeployment; its id is `machine-deployment/<namespace>/<name>`. */
export async function rollOutMachineDeployment(input: RollOutInput): Promise<RollOutResult> {
  const rollout = openRollout(parseInput(input));
  listen(rollout);
  index(rollout);
  try {
    return await untilNothingIsLeft(rollout, input);
  } catch (error) {
    if (isCancellation(error)) await CancellationScope.nonCancellable(() => abort(rollout));
    throw error;
  }
}

async function untilNothingIsLeft(rollout: Rollout, input: RollOutInput): Promise<RollOutResult> {
  for (;;) {
    if (workflowInfo().continueAsNewSuggested) await goOnAfresh(rollout, input);
    rollout.nudged = false;
    const result = await round(rollout);
    // No await between this look and the return: a late signal then starts a new round, or a new run.
    if (result && !rollout.nudged) return result;
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
  const seen = await observe(rollout);
  if (seen.state === "Gone") return ended(rollout, rollout.cleanedUp ? "Deleted" : "Gone");
  if (seen.state === "Deleting") return await cleanUp(rollout);
  await prepare(rollout, seen.desired);
  rollout.startedFor ??= seen.desired.observed;
  if (rollout.publishOnly && rollout.startedFor === seen.desired.observed) return await renewOnly(rollout);
  return await take(rollout, seen.desired);
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

// A step that ran out of time while its MachineDeployment went away is no reason to halt.
async function haltOrWait(rollout: Rollout, trouble: { reason: string; message: string }): Promise<void> {
  await halt(rollout, trouble.reason, trouble.message).catch(async (error: unknown) => {
    const second = troubleOf(error);
    if (second.kind === "rethrow") throw error;
    await waitOutage(rollout, trouble.message);
  });
}

async function goOnAfresh(rollout: Rollout, input: RollOutInput): Promise<never> {
  await condition(allHandlersFinished);
  return await continueAsNew<typeof rollOutMachineDeployment>({ ...input, carried: carriedState(rollout) });
}
