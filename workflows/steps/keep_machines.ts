/**
 * Keeps the machines of a pool when its image changes and the policy permits no replacement; NodePools update the
 * nodes.
 */
import { sleep } from "@temporalio/workflow";
import type { Desired, Rules } from "../contracts/mod.ts";
import { write } from "../proxies.ts";
import { type Part, type Seen, type Telling, warn } from "../state/rollout.ts";
import { stand } from "../status/report.ts";
import { halt } from "./halt.ts";

/**
 * Pauses between checks whether machine-controller has adopted the template (ms): it adopts one in moments, unless it
 * is down.
 */
const pauses = { atFirst: 2_000, later: 15_000, after: 20_000 };

/**
 * Returns whether the image changed under a policy that keeps machines; under other policies nothing may be awaited, as
 * recorded histories have no such step.
 */
export function isToKeep(
  { settings: { pool }, target, memory: { lastGood, rollback } }: Seen<"settings" | "target" | "memory">,
  { templateHash }: Desired,
  { onImageChange = "Replace" }: Rules,
): boolean {
  if (onImageChange === "Replace" || pool.kind !== undefined) return false;
  // The last good template changes nothing, a rollback restores a good template, and a refused image is already being
  // replaced.
  return ![lastGood?.templateHash, target.replacedFor].includes(templateHash) && !rollback;
}

/**
 * Keeps the machines, in every reconcile until that is done, as nothing may begin before. Returns LookAgain if the
 * desired state was changed, is about to be changed, or must not be rolled out. If the machines cannot be kept, the
 * policy decides between replacement and a halt.
 */
export async function keepMachines(
  rollout: Telling & Part<"target">,
  { templateHash }: Desired,
  { onImageChange }: Rules,
): Promise<"GoOn" | "LookAgain"> {
  const { settings: { pool }, target, view } = rollout;
  const summary = "Keep the machines, as their image is changed in place";
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

// Waits for machine-controller up to the `settle` deadline, as after any change of a template.
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
      "Waited too long for machine-controller to adopt the template that keeps the machines; " +
        "check that machine-controller runs",
    );
    return "LookAgain";
  }
  const message = "Waiting for machine-controller to adopt the template that keeps the machines";
  stand(rollout, { phase: "Preparing", reason: "Settling", message, until });
  await sleep(now - since < pauses.after ? pauses.atFirst : pauses.later, { summary: message });
  return "LookAgain";
}
