/** A change that failed: it is held and remembered, and by policy left again. */
import type { Quarantined, RollBack } from "../contracts/mod.ts";
import { warn } from "../state/rollout.ts";
import type { Rollout } from "../state/rollout.ts";
import { callOff } from "../machine/tasks.ts";

/** Changes a pool remembers. */
const remembered = 5;

/** The change that is desired, as it is remembered. */
export function badChange(rollout: Rollout, by: string, reason: string): Quarantined {
  const { specHash = "", templateHash = "", revision = "", image = "", kubelet = "" } = rollout.desired ?? {};
  return { specHash, templateHash, revision, image, kubelet, by, reason, since: Date.now() };
}

/** The desired change failed before, and nobody said retry. */
export function isQuarantined(rollout: Rollout): boolean {
  if (rollout.failed.length > 0 && rollout.rollBack === null) return true;
  return rollout.memory.quarantine.some(({ specHash }) => specHash === rollout.desired?.specHash);
}

/** Nothing of what is desired may be admitted: it is held, or left and not yet taken back. */
export function isGivenUp(rollout: Rollout): boolean {
  const { rollBack, desired, memory } = rollout;
  return rollBack ? desired?.specHash !== memory.lastGood?.specHash : isQuarantined(rollout);
}

/** Nothing more is admitted of this change; with `onFailure: RollBack` the pool goes back to the last good one. */
export function giveUp(rollout: Rollout, { reason, message }: { reason: string; message: string }): Promise<void> {
  const { memory, desired, rules } = rollout;
  // A machine of the last good change that fails says nothing against the change: halted, but not remembered.
  const isKnownGood = desired?.specHash === memory.lastGood?.specHash;
  const bad = badChange(rollout, "policy", `${reason}: ${message}`);
  if (!isKnownGood) quarantine(rollout, bad);
  // Where no machine failed either, nothing else would hold it: it would be tried again at once, and for ever.
  else if (rollout.failed.length === 0) rollout.mishaps.push({ kind: "halt", reason, message });
  warn(rollout, reason, `${message}; no old machine is removed`);
  if (!isKnownGood && rules?.onFailure === "RollBack" && memory.lastGood) {
    goBack(rollout, { kind: "RollBack", by: "policy", reason: bad.reason, since: Date.now(), bad, reapplied: 0 });
  }
  rollout.nudged = true;
  return Promise.resolve();
}

/** Remembers a change as bad. */
export function quarantine(rollout: Rollout, bad: Quarantined): void {
  const others = rollout.memory.quarantine.filter(({ specHash }) => specHash !== bad.specHash);
  rollout.memory.quarantine = [...others, bad].slice(-remembered);
  warn(rollout, "Quarantined", `Revision ${bad.revision} (${bad.image}) is held: ${bad.reason}`);
}

/** Takes the way back; everything that came for the bad change is called off. */
export function goBack(rollout: Rollout, rollBack: RollBack): void {
  rollout.rollBack = rollBack;
  rollout.memory.left = rollBack;
  callOff(rollout, ({ kind }) => kind === "join" || kind === "gates");
  rollout.dropped = { ...rollout.dropped, ...rollout.booting };
  rollout.booting = {};
  const { lastGood } = rollout.memory;
  const what = `Going back from revision ${rollBack.bad.revision} to ${lastGood?.revision} (${lastGood?.image})`;
  warn(
    rollout,
    rollBack.kind === "Abort" ? "AbortStarted" : "RollBackStarted",
    `${what}: ${rollBack.bad.reason}`,
  );
  rollout.nudged = true;
}
