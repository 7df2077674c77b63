/**
 * Keeps the machines of a pool when its image changes and `onImageChange` of the policy does not permit to replace
 * them: NodePools update the nodes in place.
 */
import { sleep } from "@temporalio/workflow";
import type { Desired, Rules } from "../contracts/mod.ts";
import { write } from "../proxies.ts";
import { type Part, type Seen, type Telling, warn } from "../state/rollout.ts";
import { stand } from "../status/report.ts";
import { halt } from "./halt.ts";

/**
 * Pauses between checks whether machine-controller has observed the template (ms): `atFirst`, and `later` after the
 * first `after` milliseconds, because machine-controller is probably down then.
 */
const pauses = { atFirst: 2_000, later: 15_000, after: 20_000 };

/**
 * Returns whether a new template may change the image under a policy that keeps machines. If this returns false, the
 * caller must not await anything, because recorded histories contain no such step.
 */
export function isToKeep(
  { settings: { pool }, target, memory: { lastGood, rollback } }: Seen<"settings" | "target" | "memory">,
  { templateHash }: Desired,
  { onImageChange = "Replace" }: Rules,
): boolean {
  if (onImageChange === "Replace" || pool.kind !== undefined) return false;
  // There is nothing to keep for the last good template, which changes no image; for a template whose machines could
  // not be kept and are already being replaced; and during a rollback, which restores a good template.
  return ![lastGood?.templateHash, target.replacedFor].includes(templateHash) && !rollback;
}

/**
 * Prevents the new image from replacing machines. Returns GoOn once that is done or not needed. Returns LookAgain until
 * machine-controller has observed the change that keeps the machines, so that nothing begins before. If the machines
 * cannot be kept, halts if `onImageChange` is InPlace; otherwise returns GoOn, so that the machines are replaced.
 */
export async function keepMachines(
  rollout: Telling & Part<"target">,
  { templateHash }: Desired,
  { onImageChange }: Rules,
): Promise<"GoOn" | "LookAgain"> {
  const { settings: { pool }, target, view } = rollout;
  const summary = "Keep the machines, because NodePools change their image in place";
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

// Waits for machine-controller up to the `settle` deadline, like after any change of a template; halts after it.
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
