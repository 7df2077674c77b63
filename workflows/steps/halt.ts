/** Halts a run and reports why, until something changes, a person sends `retry`, or the next scheduled check is due. */
import { condition, sleep } from "@temporalio/workflow";
import { iso } from "../state/loop.ts";
import { type Telling, warn } from "../state/rollout.ts";
import { report, stand } from "../status/report.ts";

/**
 * Reports why the rollout does not continue, and waits for an event, or until `recheck` has passed; then the caller
 * reads the pool again.
 */
export async function halt(rollout: Telling, reason: string, message: string): Promise<void> {
  const { settings: { durations }, loop, view } = rollout;
  const { standing } = view;
  const told = loop.mishaps.length;
  const isNews = standing.phase !== "Halted" || standing.reason !== reason || standing.message !== message;
  const until = Date.now() + durations.recheck;
  if (isNews) warn(view, reason, message);
  await report(rollout, { phase: "Halted", reason, message, until });
  await condition(() => loop.nudged || loop.mishaps.length > told, durations.recheck, {
    summary: `Halted (${reason}); next check at ${iso(until)}, or on a change`,
  });
}

/**
 * Waits up to 15 s while the API is unavailable; then the caller tries again. The reported phase stays, because an
 * unknown state is neither success nor failure.
 */
export async function waitOutage(rollout: Telling, message: string): Promise<void> {
  const pause = Math.min(15_000, rollout.settings.durations.recheck);
  const { phase } = rollout.view.standing;
  const until = Date.now() + pause;
  stand(rollout, { phase, reason: "Unreachable", message: `Waiting for the API: ${message}`, until });
  await sleep(pause, { summary: "API unavailable; retrying soon" });
}
