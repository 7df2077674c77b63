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
import type { Desired, DesiredState, HistoryEntry, RollOutInput, RollOutResult } from "./contracts.ts";
import { halt, stayPaused, waitOutage } from "./halt.ts";
import { listen } from "./handlers.ts";
import { parseInput } from "./input.ts";
import { isExhausted, joinEnd, joinMachines } from "./join_machines.ts";
import { isSameChange, whileTrue } from "./patience.ts";
import { nextStep } from "./policy/next_step.ts";
import type { Step } from "./policy/next_step.ts";
import { prepare } from "./prepare.ts";
import { awaits, read, write } from "./proxies.ts";
import { abandonVictim, removeMachine, replaceMachine, spare } from "./replace_machine.ts";
import { index, report, stand } from "./report.ts";
import { carriedState, iso, openRollout } from "./rollout.ts";
import type { Rollout } from "./rollout.ts";
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

async function take(rollout: Rollout, desired: Desired): Promise<RollOutResult | undefined> {
  const pool = await read.readPool.executeWithOptions({ summary: "Read the machines" }, [
    { pool: rollout.pool, templateHash: desired.templateHash },
  ]);
  rollout.counts = pool.counts;
  const step = nextStep(desired, pool);
  switch (step.kind) {
    case "converged":
      return await converge(rollout, desired);
    case "finish":
      return await undefinedAfter(removeMachine(rollout, step.victim, newestJoin(rollout)));
    case "spare":
      return await undefinedAfter(Promise.all(step.machines.map(({ id }) => spare(rollout, id, false))));
    case "join":
      return await undefinedAfter(seeThemJoin(rollout, desired, step));
    case "replace":
      return await undefinedAfter(replaceNext(rollout, desired, step));
    case "settle":
      return await undefinedAfter(settle(rollout, desired, { waitsFor: step.waitsFor, fingerprint: pool.fingerprint }));
  }
}

async function undefinedAfter(work: Promise<unknown>): Promise<undefined> {
  await work;
}

async function seeThemJoin(rollout: Rollout, desired: Desired, step: Step & { kind: "join" }): Promise<void> {
  if (isExhausted(rollout)) return await haltExhausted(rollout, desired);
  const machines = step.machines.map((machine) => machine.id);
  const message = `${machines.length === 1 ? `Machine "${machines[0]}" joins` : `${machines.length} machines join`}`;
  await report(rollout, { phase: activePhase(rollout), reason: "Joining", message, until: joinEnd(rollout, machines) });
  await joinMachines(rollout, desired, machines);
}

async function replaceNext(rollout: Rollout, desired: Desired, step: Step & { kind: "replace" }): Promise<void> {
  if (rollout.paused && step.newcomer.held) return await stayPaused(rollout);
  if (isExhausted(rollout)) return await haltExhausted(rollout, desired);
  await replaceMachine(rollout, desired, step);
}

async function haltExhausted(rollout: Rollout, desired: Desired): Promise<void> {
  const { attemptsAllowed, failedMachines } = rollout;
  const message = `No machine of revision ${desired.revision} joined, after ${attemptsAllowed} rounds of ` +
    `recreating them (${failedMachines} failed); no old machine is removed`;
  await halt(rollout, "JoinAttemptsExhausted", message);
}

async function settle(
  rollout: Rollout,
  desired: Desired,
  { waitsFor, fingerprint }: { waitsFor: string; fingerprint: string },
): Promise<void> {
  const until = Date.now() + rollout.durations.settle;
  stand(rollout, { phase: activePhase(rollout), reason: "Settling", message: `Waiting for ${waitsFor}`, until });
  await whileTrue(
    rollout,
    isSameChange(desired),
    () =>
      awaits.awaitPoolChanged.executeWithOptions({ summary: `Wait for ${waitsFor}` }, [
        { pool: rollout.pool, templateHash: desired.templateHash, fingerprint, until },
      ]),
  );
}

// A step that ran out of time while its MachineDeployment went away is no reason to halt.
async function haltOrWait(rollout: Rollout, trouble: { reason: string; message: string }): Promise<void> {
  await halt(rollout, trouble.reason, trouble.message).catch(async (error: unknown) => {
    const second = troubleOf(error);
    if (second.kind === "rethrow") throw error;
    await waitOutage(rollout, trouble.message);
  });
}

// The pool stays as the cancelled rollout left it; a real change meanwhile makes this a rollout like any other.
async function renewOnly(rollout: Rollout): Promise<RollOutResult> {
  const message = "Cancelled before: only the credentials were renewed";
  await report(rollout, { phase: "Aborted", reason: "CredentialsRenewed", message });
  return ended(rollout, "Published");
}

async function converge(rollout: Rollout, desired: Desired): Promise<RollOutResult> {
  rollout.underway = undefined;
  const message = desired.replicas === 0
    ? "No machines are wanted; secrets are published"
    : `All ${desired.replicas} machines run revision ${desired.revision}`;
  const reason = desired.replicas === 0 ? "ScaledToZero" : "Converged";
  await report(rollout, { phase: "Converged", reason, message }, {
    convergedTemplateHash: desired.templateHash,
    history: historyEntry(rollout, desired),
  });
  return ended(rollout, "Converged");
}

function historyEntry(rollout: Rollout, desired: Desired): HistoryEntry {
  const { revision, image, kubelet } = desired;
  return {
    ...{ revision, image, kubelet },
    configDigest: rollout.rendering?.configDigest ?? "",
    startedAt: iso(rollout.startedAt),
    endedAt: iso(Date.now()),
    outcome: "Converged",
    machines: rollout.joins.length,
  };
}

async function cleanUp(rollout: Rollout): Promise<RollOutResult> {
  stand(rollout, { phase: "Deleting", reason: "Deleting", message: "Removing everything made for this pool" });
  await write.ensurePoolCleanedUp.executeWithOptions({ summary: "Remove config, secrets and holds" }, [
    { pool: rollout.pool },
  ]);
  rollout.cleanedUp = true;
  return ended(rollout, "Deleted");
}

async function abort(rollout: Rollout): Promise<void> {
  await abandonVictim(rollout);
  rollout.underway = undefined;
  const message = "Cancelled: machines not admitted yet stay held, old machines stay";
  await report(rollout, { phase: "Aborted", reason: "Cancelled", message }, {
    events: [{ type: "Warning", reason: "RolloutAborted", message }],
  });
}

async function goOnAfresh(rollout: Rollout, input: RollOutInput): Promise<never> {
  await condition(allHandlersFinished);
  return await continueAsNew<typeof rollOutMachineDeployment>({ ...input, carried: carriedState(rollout) });
}

function activePhase(rollout: Rollout): "Creating" | "Rolling" {
  return rollout.counts?.old === 0 && rollout.replaced === 0 ? "Creating" : "Rolling";
}

function newestJoin(rollout: Rollout): string {
  return rollout.joins.at(-1)?.machine ?? "";
}

function ended(rollout: Rollout, outcome: RollOutResult["outcome"]): RollOutResult {
  const { desired, rendering, replaced, joins, replacements } = rollout;
  if (!desired || !rendering) return { outcome, replaced, joins, replacements };
  const { generation, revision, image, kubelet } = desired;
  const { configDigest } = rendering;
  return { outcome, generation, revision, image, kubelet, configDigest, replaced, joins, replacements };
}
