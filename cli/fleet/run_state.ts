/** The state of an open rollout, from the list of workflows and from its own progress. */
import type { Progress } from "../../workflows/contracts/mod.ts";
import { printable } from "../view/printable.ts";
import type { Reply } from "./bounded_work.ts";
import type { OpenRun } from "./open_runs.ts";

/** Reasons that block a rollout although it has not halted. */
const blocking = [
  "OutsideWindow",
  "WindowTooShort",
  "TooManyUnhealthy",
  "ClusterBudget",
  "PodsRemaining",
  "Unreachable",
];

export interface RunState {
  /** The phase of the rollout, or `AwaitingApproval`, `Paused` or `Blocked` while it waits. */
  state: string;
  /** The reason in the progress of the rollout; "" without progress. */
  reason: string;
  message: string;
  /** Updated and verified machines of the desired number: "3/10"; "" without progress. */
  updated: string;
  /** Number of the current wave, from 1, and of all waves: "2/3"; "" without waves. */
  wave: string;
  /** Epoch ms since which the rollout has had its phase and reason; missing without progress. */
  since?: number;
  /** Why the progress is missing. */
  unheard?: string;
}

/** Returns the state of a run; without a reply, only its phase in the list of workflows is known. Pure. */
export function stateOf(run: OpenRun, reply: Reply<Progress> | undefined): RunState {
  const nothing = { reason: "", message: "", updated: "", wave: "" };
  if (reply === undefined || "why" in reply) {
    return { state: run.phase, ...nothing, unheard: reply?.why ?? "not queried" };
  }
  const { phase, paused, counts, wave, waves, since, ...said } = reply.value;
  const reason = printable(String(said.reason ?? ""), 60);
  const at = Date.parse(String(since ?? ""));
  return {
    state: waitingFor({ phase: printable(String(phase), 40), reason, isPaused: paused === true }),
    reason,
    message: printable(String(said.message ?? "")),
    // `updated` also counts machines that are held or still join, which no other view calls updated.
    updated: counts ? `${Number(counts.updatedReady ?? counts.updated)}/${Number(counts.desired)}` : "",
    wave: Array.isArray(waves) && waves.length > 0 ? `${Number(wave)}/${waves.length}` : "",
    ...(Number.isNaN(at) ? {} : { since: at }),
  };
}

function waitingFor({ phase, reason, isPaused }: { phase: string; reason: string; isPaused: boolean }): string {
  if (phase === "Halted") return phase;
  if (isPaused) return "Paused";
  if (reason === "AwaitingApproval") return reason;
  return blocking.includes(reason) ? "Blocked" : phase;
}
