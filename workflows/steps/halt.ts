/** Standing still in plain sight: halted until something changes or a person says retry, with regular looks of its own. */
import { condition, sleep } from "@temporalio/workflow";
import { report, stand } from "../status/report.ts";
import { iso, warn } from "../state/rollout.ts";
import type { Rollout } from "../state/rollout.ts";

/** Says why nothing goes on, and waits for a nudge; looks at the world again after `recheck` in any case. */
export async function halt(rollout: Rollout, reason: string, message: string): Promise<void> {
  const { standing } = rollout;
  const told = rollout.mishaps.length;
  const isNews = standing.phase !== "Halted" || standing.reason !== reason || standing.message !== message;
  const until = Date.now() + rollout.durations.recheck;
  if (isNews) warn(rollout, reason, message);
  await report(rollout, { phase: "Halted", reason, message, until });
  await condition(() => rollout.nudged || rollout.mishaps.length > told, rollout.durations.recheck, {
    summary: `Halted (${reason}): wait for a change, or look again at ${iso(until)}`,
  });
}

/** Waits out a time in which the world cannot be seen: unknown is neither success nor failure. */
export async function waitOutage(rollout: Rollout, message: string): Promise<void> {
  const pause = Math.min(15_000, rollout.durations.recheck);
  const { phase } = rollout.standing;
  stand(rollout, {
    phase,
    reason: "Unreachable",
    message: `Waiting for the API: ${message}`,
    until: Date.now() + pause,
  });
  await sleep(pause, { summary: "The API does not answer: look again soon" });
}
