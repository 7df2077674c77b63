/** Asks gates, of one machine or of a wave; what cannot be judged waits for a person. */
import { condition } from "@temporalio/workflow";
import type { Gate, GateVerdict } from "./contracts.ts";
import { awaits } from "./proxies.ts";
import { warn } from "./rollout.ts";
import type { Rollout, Task } from "./rollout.ts";

export interface Asked {
  run: Gate["run"];
  /** Tells this asking from all others, for what gates create. */
  key: string;
  machine?: string;
  node?: string;
}

/** Gives undefined when all have passed or were taken as passed, else what failed. */
export async function passGates(rollout: Rollout, task: Task, asked: Asked): Promise<string | undefined> {
  for (let time = 1;; time++) {
    const gates = (rollout.rules?.gates ?? []).filter(({ run }) => run === asked.run);
    if (gates.length === 0) return undefined;
    const verdicts = await ask(rollout, task, {
      ...asked,
      key: [asked.key, ...(rollout.retriedAt ? [rollout.retriedAt] : []), ...(time > 1 ? [time] : [])].join(" "),
      gates,
    });
    const failed = verdicts.find(({ outcome }) => outcome === "Failed");
    if (failed) return `gate "${failed.gate}" failed: ${failed.message}`;
    const unclear = verdicts.find(({ outcome }) => outcome === "Inconclusive");
    if (!unclear || await isTakenAsPassed(rollout, task, unclear)) return undefined;
  }
}

async function ask(
  rollout: Rollout,
  task: Task,
  { run: _, gates, ...asked }: Asked & { gates: Gate[] },
): Promise<GateVerdict[]> {
  const { rules, pool } = rollout;
  const within = Math.max(...gates.map((gate) => gate.within));
  task.until = Date.now() + Math.min(within, asked.machine ? rules?.join.gates ?? within : within);
  const summary = `Ask ${
    gates.length === 1 ? `gate ${gates[0]?.name}` : `${gates.length} gates`
  } about ${task.subject}`;
  return await awaits.awaitGates.executeWithOptions({ summary }, [{ pool, gates, ...asked, until: task.until }]);
}

/** Waits for a person: promote takes the gate as passed, retry asks it again. */
async function isTakenAsPassed(rollout: Rollout, task: Task, { gate, message }: GateVerdict): Promise<boolean> {
  task.doubt = `gate "${gate}" could not be judged: ${message}`;
  warn(rollout, "GateInconclusive", `${task.subject}: ${task.doubt}`);
  rollout.nudged = true;
  await condition(() => task.doubt === "" || task.doubt === promoted);
  const isPromoted = task.doubt === promoted;
  task.doubt = "";
  return isPromoted;
}

/** What `promote` writes in the place of a doubt. */
export const promoted = "promoted";
