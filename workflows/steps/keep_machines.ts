/** Another image where a policy lets no machine be replaced for it: machines stay, and their nodes follow NodePools. */
import { sleep } from "@temporalio/workflow";
import type { Desired, Rules } from "../contracts/mod.ts";
import { write } from "../proxies.ts";
import { type Part, type Seen, type Telling, warn } from "../state/rollout.ts";
import { stand } from "../status/report.ts";
import { halt } from "./halt.ts";

/** Between looks whether machine-controller has taken up what it was given (ms): it does so in moments, or is away. */
const pauses = { atFirst: 2_000, later: 15_000, after: 20_000 };

/** Another image is asked for by such a policy; no await of runs without one, whose histories have none there. */
export function isToKeep(
  { settings: { pool }, target, memory: { lastGood, rollback } }: Seen<"settings" | "target" | "memory">,
  { templateHash }: Desired,
  { onImageChange = "Replace" }: Rules,
): boolean {
  if (onImageChange === "Replace" || pool.kind !== undefined) return false;
  // What runs everywhere changes nothing, what is gone back to has been good, and what was refused once is being replaced.
  return ![lastGood?.templateHash, target.replacedFor].includes(templateHash) && !rollback;
}

/**
 * LookAgain: what is desired was changed, is about to be, or may not be done. By policy, what cannot be done so is done by
 * replacement; else nothing is. Asked in every round until it is done, as nothing may be begun before.
 */
export async function keepMachines(
  rollout: Telling & Part<"target">,
  { templateHash }: Desired,
  { onImageChange }: Rules,
): Promise<"GoOn" | "LookAgain"> {
  const { settings: { pool }, target, view } = rollout;
  const summary = "Keep the machines for the new image";
  const kept = await write.ensureMachinesKept.executeWithOptions({ summary }, [{ pool }]);
  if (kept.outcome === "Unneeded") return "GoOn";
  if (kept.outcome !== "Refused") return await waitForMaker(rollout, templateHash);
  const { message } = kept;
  if (onImageChange === "InPlace") {
    await halt(rollout, "ReplacementRefused", message);
    return "LookAgain";
  }
  target.replacedFor = templateHash;
  warn(view, "InPlaceRefused", message);
  return "GoOn";
}

// Within the time that it has for any change of a template.
async function waitForMaker(rollout: Telling & Part<"target">, templateHash: string): Promise<"LookAgain"> {
  const { settings: { durations }, target } = rollout;
  const now = Date.now();
  if (target.keeping?.templateHash !== templateHash) target.keeping = { templateHash, since: now };
  const { since } = target.keeping;
  const until = since + durations.settle;
  if (now >= until) {
    await halt(
      rollout,
      "SettleExpired",
      "machine-controller did not adopt the template that keeps the machines in time",
    );
    return "LookAgain";
  }
  const message = "Waiting for machine-controller to adopt the template that keeps the machines";
  stand(rollout, { phase: "Preparing", reason: "Settling", message, until });
  await sleep(now - since < pauses.after ? pauses.atFirst : pauses.later, { summary: message });
  return "LookAgain";
}
