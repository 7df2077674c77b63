/** Where an open rollout is, from what the run list shows and what the run itself says. */
import type { Progress } from "../../workflows/contracts/mod.ts";
import { printable, type Reply } from "./bounded_work.ts";
import type { OpenRun } from "./open_runs.ts";

/** Reasons why nothing more begins though the rollout has not halted. */
const blocking = [
  "OutsideWindow",
  "WindowTooShort",
  "TooManyUnhealthy",
  "ClusterBudget",
  "PodsRemaining",
  "Unreachable",
];

export interface RunState {
  /** Its phase, or `AwaitingApproval`, `Paused` or `Blocked` where it waits for that. */
  state: string;
  /** Why, where it said so. */
  reason: string;
  message: string;
  /** Machines that are as desired, of those that are wanted: "3/10"; "" where it did not say. */
  updated: string;
  /** From 1, of all: "2/3"; "" for none. */
  wave: string;
  /** Epoch ms. */
  since?: number;
  /** Why it did not say where it is. */
  unheard?: string;
}

/** What is known without an answer is the phase of the list, which is as new. Pure. */
export function stateOf(run: OpenRun, reply: Reply<Progress> | undefined): RunState {
  const nothing = { reason: "", message: "", updated: "", wave: "" };
  if (reply === undefined || "why" in reply) {
    return { state: run.phase, ...nothing, unheard: reply?.why ?? "not asked" };
  }
  const { phase, paused, counts, wave, waves, since, ...said } = reply.value;
  const reason = printable(String(said.reason ?? ""), 60);
  const at = Date.parse(String(since ?? ""));
  return {
    state: waitingFor({ phase: printable(String(phase), 40), reason, isPaused: paused === true }),
    reason,
    message: printable(String(said.message ?? "")),
    updated: counts ? `${Number(counts.updated)}/${Number(counts.desired)}` : "",
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
