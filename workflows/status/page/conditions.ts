/** The conditions of a Rollout, from where the run stands. */
import type { Condition, Phase, Quarantined, Request, Rollback } from "../../contracts/mod.ts";

export interface Told {
  phase: Phase;
  reason: string;
  message: string;
  paused: Request | null;
  /** Why nothing more begins; null while it goes on. */
  blocked: { reason: string; message: string } | null;
  /** What was left last, or is being left. */
  left: Rollback | null;
  /** The desired change, if it is held because it failed. */
  quarantined: Quarantined | null;
}

/** Always all of them, so that `kubectl wait` never looks for a missing one. */
export function conditions(told: Told): Condition[] {
  const { phase, reason, message, paused, blocked, left, quarantined } = told;
  const under = ["Preparing", "Creating", "Rolling", "RollingBack", "Repairing"].includes(phase);
  const isBack = phase === "RolledBack" || (left?.kind === "RollBack" && phase !== "RollingBack");
  return [
    { type: "Ready", status: truth(phase === "Converged"), reason, message },
    { type: "Progressing", status: truth(under && !paused), reason, message },
    condition("Blocked", blocked, "NotBlocked"),
    condition("Paused", paused && { reason: "PauseRequested", message: pauseText(paused) }, "NotPaused"),
    condition("RolledBack", isBack && left ? { reason: "RolledBack", message: left.reason } : null, "NotRolledBack"),
    condition("Quarantined", heldText(quarantined), "NotQuarantined"),
  ];
}

function condition(
  type: Condition["type"],
  holds: { reason: string; message: string } | null,
  otherwise: string,
): Condition {
  return { type, status: truth(holds !== null), reason: holds?.reason ?? otherwise, message: holds?.message ?? "" };
}

function heldText(bad: Quarantined | null): { reason: string; message: string } | null {
  return bad && { reason: "Quarantined", message: `Revision ${bad.revision} (${bad.image}) is held: ${bad.reason}` };
}

function truth(holds: boolean): "True" | "False" {
  return holds ? "True" : "False";
}

function pauseText({ by, reason }: Request): string {
  return `Paused by ${by}${reason ? `: ${reason}` : ""}`;
}
