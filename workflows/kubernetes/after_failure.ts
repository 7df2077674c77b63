/** Reports a failure of a run on control planes, and waits; the slot of the run is renewed meanwhile. */
import { condition } from "@temporalio/workflow";
import type { UpgradeStanding } from "../contracts/mod.ts";
import { troubleOf } from "../state/trouble.ts";

/** Maximum milliseconds until the next survey. */
export const lookMs = 600_000;
/** Maximum milliseconds until the next survey after an outage. */
const outageMs = 60_000;
/** Maximum milliseconds until the next survey after the NodeVersion changed between a survey and its step. */
const mootMs = 1_000;

/** A run that a failure interrupted. */
export interface Interrupted {
  isChanged: () => boolean;
  report: (standing: UpgradeStanding) => Promise<void>;
  /** Renews the slot of the run, because without a slot the run of a group could repair or replace the machine. */
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
