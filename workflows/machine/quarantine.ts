/** A change that failed: it is remembered as bad, nothing more of it is admitted, and by policy it is left again. */
import type { Quarantined, Rollback } from "../contracts/mod.ts";
import { callOff, callOffUpdates } from "./tasks.ts";
import { nudge } from "../state/loop.ts";
import { dropAllBoots } from "../state/machines.ts";
import { isBad, rememberBad } from "../state/memory.ts";
import { type Part, type Seen, warn } from "../state/rollout.ts";
import { isLastGood } from "../state/target.ts";
import type { Target } from "../state/target.ts";

/** What giving a change up touches. */
export type GivingUp = Seen<"target"> & Part<"memory" | "machines" | "tasks" | "loop" | "view">;

/** The change that is desired, as it is remembered. */
export function badChange({ desired }: Readonly<Target>, by: string, reason: string): Quarantined {
  const { specHash = "", templateHash = "", revision = "", image = "", kubelet = "" } = desired ?? {};
  return { specHash, templateHash, revision, image, kubelet, by, reason, since: Date.now() };
}

/** The desired change failed before, and nobody said retry. */
export function isQuarantined({ machines, memory, target }: Seen<"machines" | "memory" | "target">): boolean {
  if (machines.failed.length > 0 && memory.rollback === null) return true;
  return isBad(memory, target.desired?.specHash);
}

/** Nothing of what is desired may be admitted: it is quarantined, or left and not yet taken back. */
export function isGivenUp(rollout: Seen<"machines" | "memory" | "target">): boolean {
  const { memory, target } = rollout;
  return memory.rollback ? !isLastGood(target, memory.lastGood) : isQuarantined(rollout);
}

/** Nothing more is admitted of this change; with `onFailure: Rollback` the pool goes back to the last good one. */
export function giveUp(rollout: GivingUp, { reason, message }: { reason: string; message: string }): void {
  const { target, memory, machines, loop, view } = rollout;
  // A machine of the last good change that fails says nothing against the change: halted, but not remembered.
  const isKnownGood = isLastGood(target, memory.lastGood);
  const bad = badChange(target, "policy", `${reason}: ${message}`);
  if (!isKnownGood) quarantine(rollout, bad);
  // Where no machine failed either, nothing else would stop it: it would be tried again at once, and for ever.
  else if (machines.failed.length === 0) loop.mishaps.push({ kind: "halt", reason, message });
  warn(view, reason, `${message}; Ostler removes no old machine`);
  if (!isKnownGood && target.rules?.onFailure === "Rollback" && memory.lastGood) {
    goBack(rollout, { kind: "RollBack", by: "policy", reason: bad.reason, since: Date.now(), bad, reapplied: 0 });
  }
  nudge(loop);
}

/** Remembers a change as bad, and says so. */
export function quarantine({ memory, view }: Part<"memory" | "view">, bad: Quarantined): void {
  rememberBad(memory, bad);
  warn(view, "Quarantined", `Revision ${bad.revision} (${bad.image}) is quarantined: ${bad.reason}`);
}

/** Takes the way back; everything that came for the bad change is called off. */
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
