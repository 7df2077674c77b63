/** The conditions of a Rollout, from where the run stands. */
import type { Condition, Phase } from "../contracts.ts";

export interface Standing {
  phase: Phase;
  reason: string;
  message: string;
}

/** Ready, Progressing, Blocked and Paused, always all four, so that `kubectl wait` never looks for a missing one. */
export function conditions(standing: Standing, paused: { by: string; reason: string } | null): Condition[] {
  const { phase, reason, message } = standing;
  const halted = phase === "Halted";
  const under = phase === "Preparing" || phase === "Creating" || phase === "Rolling";
  return [
    { type: "Ready", status: truth(phase === "Converged"), reason: reason, message: message },
    { type: "Progressing", status: truth(under && !paused), reason: reason, message: message },
    { type: "Blocked", status: truth(halted), reason: halted ? reason : "NotBlocked", message: halted ? message : "" },
    {
      type: "Paused",
      status: truth(paused !== null),
      reason: paused ? "PauseRequested" : "NotPaused",
      message: pauseText(paused),
    },
  ];
}

function truth(holds: boolean): "True" | "False" {
  return holds ? "True" : "False";
}

function pauseText(paused: { by: string; reason: string } | null): string {
  return paused ? `Paused by ${paused.by}${paused.reason ? `: ${paused.reason}` : ""}` : "";
}
