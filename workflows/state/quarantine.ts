/**
 * Gives up a change that failed: the change is quarantined, no further machine of it is admitted, and the policy can
 * roll it back.
 */
import type { Quarantined, Rollback } from "../contracts/mod.ts";
import { nudge } from "./loop.ts";
import { callOffUpdates, dropAllBoots } from "./machines.ts";
import { isBad, rememberBad } from "./memory.ts";
import { type Part, type Seen, warn } from "./rollout.ts";
import { isLastGood, type Target } from "./target.ts";
import { callOff } from "./tasks.ts";

/** The parts of the state that giving up a change reads and changes. */
export type GivingUp = Seen<"target"> & Part<"memory" | "machines" | "tasks" | "loop" | "view">;

/** Returns the record of the desired change for the quarantine or a rollback. */
export function badChange({ desired }: Readonly<Target>, by: string, reason: string): Quarantined {
  const { specHash = "", templateHash = "", revision = "", image = "", kubelet = "" } = desired ?? {};
  return { specHash, templateHash, revision, image, kubelet, by, reason, since: Date.now() };
}

/** Returns whether the desired change failed before and has not been retried. */
export function isQuarantined({ machines, memory, target }: Seen<"machines" | "memory" | "target">): boolean {
  if (machines.failed.length > 0 && memory.rollback === null) return true;
  return isBad(memory, target.desired?.specHash);
}

/**
 * Returns whether no machine of the desired change may be admitted: the change is in quarantine, or it was abandoned
 * and the rollback has not replaced it yet.
 */
export function isGivenUp(rollout: Seen<"machines" | "memory" | "target">): boolean {
  const { memory, target } = rollout;
  return memory.rollback ? !isLastGood(target, memory) : isQuarantined(rollout);
}

/**
 * Stops admitting machines of the desired change; with `onFailure: Rollback`, the pool rolls back to the last good
 * change.
 */
export function giveUp(rollout: GivingUp, { reason, message }: { reason: string; message: string }): void {
  const { target, memory, machines, loop, view } = rollout;
  // A failure of the last good change does not prove that change bad, so the run halts without a quarantine.
  const isKnownGood = isLastGood(target, memory);
  const bad = badChange(target, "policy", `${reason}: ${message}`);
  if (!isKnownGood) quarantine(rollout, bad);
  // Without a quarantine and without a failed machine, only this halt prevents an immediate and endless retry.
  else if (machines.failed.length === 0) loop.mishaps.push({ kind: "halt", reason, message });
  warn(view, reason, `${message}; Ostler removes no old machine`);
  if (!isKnownGood && target.rules?.onFailure === "Rollback" && memory.lastGood) {
    goBack(rollout, { kind: "RollBack", by: "policy", reason: bad.reason, since: Date.now(), bad, reapplied: 0 });
  }
  nudge(loop);
}

/** Adds a change to the quarantine, and reports it. */
export function quarantine({ memory, view }: Part<"memory" | "view">, bad: Quarantined): void {
  rememberBad(memory, bad);
  warn(view, "Quarantined", `Revision ${bad.revision} (${bad.image}) is quarantined: ${bad.reason}`);
}

/**
 * Begins a rollback to the last good change, and cancels the joins, stagings and gates of the failed change, and the
 * updates in place that have not ordered a reboot.
 */
export function goBack(
  { memory, machines, tasks, loop, view }: Part<"memory" | "machines" | "tasks" | "loop" | "view">,
  rollback: Rollback,
): void {
  const { lastGood } = memory;
  memory.rollback = rollback;
  memory.lastRollback = rollback;
  callOff(tasks, ({ kind }) => kind === "join" || kind === "gates" || kind === "stage");
  callOffUpdates({ machines, tasks }, () => true);
  dropAllBoots(machines);
  const what = `Rolling back from revision ${rollback.bad.revision} to ${lastGood?.revision} (${lastGood?.image})`;
  const event = rollback.kind === "Abort" ? "AbortStarted" : "RollbackStarted";
  warn(view, event, `${what}: ${rollback.bad.reason}`);
  nudge(loop);
}
