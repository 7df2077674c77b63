/** Asks the gates of a wave; what fails gives the change up. */
import type { Step } from "../policy/turn.ts";
import { noteAskedGates } from "../state/asked_gates.ts";
import type { Part } from "../state/rollout.ts";
import type { Task } from "../state/tasks.ts";
import { giveUp } from "../steps/quarantine.ts";
import type { GivingUp } from "../steps/quarantine.ts";
import { passGates } from "./gates.ts";
import type { Asking } from "./gates.ts";
import { begin } from "./tasks.ts";

/** Begins to ask them; when all have passed the wave has. */
export function beginWaveGates(
  rollout: Asking & GivingUp & Part<"waves">,
  { wave: index, upTo }: Step & { kind: "gates" },
): void {
  const { target, waves } = rollout;
  const { templateHash = "" } = target.desired ?? {};
  const now = Date.now();
  const subject = waveName(index);
  const task: Task = {
    kind: "gates",
    subject,
    templateHash,
    step: "Gates",
    since: now,
    until: now,
    attempt: 0,
    blockers: [],
    doubt: "",
  };
  begin(rollout, task, async () => {
    const key = `${templateHash} ${subject} up to ${upTo} ${target.startedAt}`;
    const failed = await passGates(rollout, task, { run: "EachWave", key });
    if (failed) return giveUp(rollout, { reason: "GateFailed", message: `${subject}: ${failed}` });
    // Promoted to the end meanwhile, this is another wave.
    if (waves.current.index === index) waves.current = { ...waves.current, passed: true };
    noteAskedGates(rollout, task, null); // not before: what was promoted has had its effect
  });
}

/** As people count. */
export function waveName(index: number): string {
  return `wave ${index + 1}`;
}
