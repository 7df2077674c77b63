/** The steps of a rollout, one per round. */
import type { Desired, RollOutResult } from "./contracts.ts";
import { converge } from "./endings.ts";
import { halt, stayPaused } from "./halt.ts";
import { isExhausted, joinEnd, joinMachines } from "./join_machines.ts";
import { isSameChange, whileTrue } from "./patience.ts";
import { nextStep } from "./policy/next_step.ts";
import type { Step } from "./policy/next_step.ts";
import { awaits, read } from "./proxies.ts";
import { removeMachine, replaceMachine, spare } from "./replace_machine.ts";
import { report, stand } from "./report.ts";
import type { Rollout } from "./rollout.ts";

/** Looks at the machines and takes the one step that the plan names; gives a result when nothing is left to do. */
export async function take(rollout: Rollout, desired: Desired): Promise<RollOutResult | undefined> {
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

function activePhase(rollout: Rollout): "Creating" | "Rolling" {
  return rollout.counts?.old === 0 && rollout.replaced === 0 ? "Creating" : "Rolling";
}

function newestJoin(rollout: Rollout): string {
  return rollout.joins.at(-1)?.machine ?? "";
}
