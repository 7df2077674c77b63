/** Reads what is desired. */
import type { DesiredState } from "../contracts/mod.ts";
import { awaits, readBeside } from "../proxies.ts";
import type { Part, Telling } from "../state/rollout.ts";
import { stand } from "../status/report.ts";

/** Reads it, and waits until machine-controller has numbered it. */
export async function observe(rollout: Telling & Part<"target">): Promise<DesiredState> {
  const { settings: { pool, durations }, target, tasks } = rollout;
  const by = readBeside(tasks);
  const seen = await by.readDesired.executeWithOptions({ summary: "Read what is desired" }, [{ pool }]);
  if (seen.state !== "Present" || seen.desired.settled) return seen;
  const message = `Waiting for machine-controller to number generation ${seen.desired.generation}`;
  const until = Date.now() + durations.settle;
  target.desired ??= seen.desired;
  stand(rollout, { phase: "Preparing", reason: "Settling", message, until });
  return await awaits.awaitDesiredSettled.executeWithOptions({ summary: message }, [{ pool, until }]);
}
