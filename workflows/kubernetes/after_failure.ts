/** The wait of a run on control planes after a failure, which is reported; the slot of the run lasts meanwhile. */
import { condition } from "@temporalio/workflow";
import type { UpgradeStanding } from "../contracts/mod.ts";
import { troubleOf } from "../state/trouble.ts";

/**
 * Milliseconds until the next survey in any case, after an outage, and after the NodeVersion changed between a survey and
 * its step.
 */
export const lookMs = 600_000;
const outageMs = 60_000;
const mootMs = 1_000;

/** A run that a failure interrupted. */
export interface Interrupted {
  isChanged: () => boolean;
  report: (standing: UpgradeStanding) => Promise<void>;
  /** A slot that ended would let the run of a group repair or replace the machine. */
  renewOwnSlot: () => Promise<void>;
}

/** Reports a failure that a person or time must resolve, and waits; a step that became moot is planned again. */
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
