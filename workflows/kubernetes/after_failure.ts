/**
 * Reports a failure of a run that upgrades control planes or renews their certificates, renews the slot of the run, and
 * waits.
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
   * Renews the slot of the run, because without a slot the run of the control plane's group could repair or replace the
   * machine.
   */
  renewOwnSlot: () => Promise<void>;
}

/**
 * Reports a failure and waits for a change or the next survey. If the NodeVersion only changed between survey and step,
 * plans again a moment later without a report.
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
  const orLater = (failure: unknown): void => {
    if (troubleOf(failure).kind === "rethrow") throw failure;
  };
  await report({ reason, message }).catch(orLater);
  await renewOwnSlot().catch(orLater);
  await condition(isChanged, trouble.kind === "halt" ? lookMs : outageMs);
}
