/**
 * Handles failed steps and cancellations of two kinds of runs: those that upgrade control planes, and those that renew
 * their certificates.
 */
import { condition } from "@temporalio/workflow";
import type { UpgradeStanding } from "../contracts/mod.ts";
import { troubleOf } from "../state/trouble.ts";

/** Maximum milliseconds until the next survey. */
export const lookMs = 600_000;
/** Maximum milliseconds until the next survey after an outage. */
const outageMs = 60_000;
/** Maximum milliseconds until the next survey after the NodeVersion changed between a survey and its step. */
const mootMs = 1_000;

/** The functions of a run that the wait after a failure calls. */
export interface Interrupted {
  /** Returns whether a signal has reported a change. */
  isChanged: () => boolean;
  report: (standing: UpgradeStanding) => Promise<void>;
  /**
   * Renews the slot that this run holds, because without the slot, the rollout of the control plane's ScalingGroup
   * could repair or replace the machine.
   */
  renewOwnSlot: () => Promise<void>;
}

/**
 * Reports a failure and waits for a change or for the time of the next survey. If the only cause is that the
 * NodeVersion or a machine changed between survey and step, reports nothing and waits at most a second.
 */
export async function waitAfterFailure(
  error: unknown,
  { isChanged, report, renewOwnSlot }: Interrupted,
): Promise<void> {
  const trouble = troubleOf(error);
  if (trouble.kind === "rethrow") throw error;
  if (trouble.kind === "replan") return void await condition(isChanged, mootMs);
  const { message } = trouble;
  const reason = trouble.kind === "halt" ? trouble.reason : "ApiUnavailable";
  await attempted(report({ reason, message }));
  await attempted(renewOwnSlot());
  await condition(isChanged, trouble.kind === "halt" ? lookMs : outageMs);
}

/**
 * Returns the result of a step, or the cause if the step failed but may succeed at another attempt. Throws after a
 * cancellation and after an internal error.
 */
export async function attempted<T>(step: Promise<T>): Promise<{ result: T } | { failed: string }> {
  try {
    return { result: await step };
  } catch (error) {
    const trouble = troubleOf(error);
    if (trouble.kind === "rethrow") throw error;
    return { failed: "message" in trouble ? trouble.message : "the state changed meanwhile" };
  }
}

/**
 * Reports a cancellation, and gives the slot back unless work on a control plane may be unfinished (`keepsSlot`). The
 * report is written even if giving the slot back fails for now, because without the report another run would begin by
 * itself.
 */
export async function endCancelled(
  standing: UpgradeStanding,
  { keepsSlot, giveBackSlot, report }: {
    keepsSlot: boolean;
    giveBackSlot: () => Promise<void>;
    report: (standing: UpgradeStanding) => Promise<void>;
  },
): Promise<void> {
  const slot = keepsSlot ? "Kept" : await attempted(giveBackSlot());
  await report(standing);
  if (slot !== "Kept" && "failed" in slot) await giveBackSlot();
}
