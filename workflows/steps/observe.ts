/** Reads what is desired. */
import type { DesiredState } from "../contracts/mod.ts";
import { awaits, readBeside } from "../proxies.ts";
import type { Part, Telling } from "../state/rollout.ts";
import { nextQuestionOf, readRound } from "./look.ts";
import { stand } from "../status/report.ts";

/** Reads it, and waits until machine-controller has numbered it. */
export async function observe(rollout: Telling & Part<"target" | "machines" | "tasks">): Promise<DesiredState> {
  const { settings: { pool, durations }, target, tasks } = rollout;
  rollout.machines.glance = undefined;
  const question = nextQuestionOf(rollout);
  // Two awaits, as a function around both would take a turn of its own in histories of before.
  const seen = question
    ? await readRound(rollout, question)
    : await readBeside(tasks).readDesired.executeWithOptions({ summary: "Read what is desired" }, [{ pool }]);
  if (seen.state !== "Present" || seen.desired.settled) return seen;
  const message = `Waiting for machine-controller to number generation ${seen.desired.generation}`;
  const until = Date.now() + durations.settle;
  target.desired ??= seen.desired;
  stand(rollout, { phase: "Preparing", reason: "Settling", message, until });
  return await awaits.awaitDesiredSettled.executeWithOptions({ summary: message }, [{ pool, until }]);
}
