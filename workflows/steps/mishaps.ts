/** What is done about what went wrong. */
import { postponeIdle } from "../state/machines.ts";
import type { Part, Seen, Telling } from "../state/rollout.ts";
import { postponeWave } from "../state/waves.ts";
import { halt, waitOutage } from "./halt.ts";
import type { Outcome } from "./rollback.ts";
import { type Trouble, troubleOf } from "../state/trouble.ts";

/** Tells what tasks stopped with, and waits. */
export async function answerMishaps(
  rollout: Telling & Part<"loop" | "machines" | "waves">,
): Promise<Outcome> {
  const mishaps = rollout.loop.mishaps.splice(0);
  // All of them at once: in an outage every task stops with the same.
  const mishap = mishaps.find(({ kind }) => kind === "halt") ?? mishaps[0];
  if (mishap === undefined) return "GoOn";
  const begun = Date.now();
  await waitOver(rollout, mishap);
  if (mishap.kind === "unreachable") postponeAll(rollout, Date.now() - begun);
  return "LookAgain";
}

/** Waits over what went wrong, as its kind asks for; what is not ours to handle must have been thrown again. */
export async function waitOver(rollout: Telling, trouble: Trouble): Promise<void> {
  if (trouble.kind === "halt") await haltOrWait(rollout, trouble);
  if (trouble.kind === "unreachable") await waitOutage(rollout, trouble.message);
}

/** Adds time in which nobody could look; what is under way looks for itself. */
export function postponeAll({ machines, waves, tasks }: Part<"machines" | "waves"> & Seen<"tasks">, ms: number): void {
  postponeIdle(machines, tasks, ms);
  postponeWave(waves, tasks, ms);
}

// A step that ran out of time while its MachineDeployment went away is no reason to halt.
async function haltOrWait(rollout: Telling, trouble: { reason: string; message: string }): Promise<void> {
  await halt(rollout, trouble.reason, trouble.message).catch(async (error: unknown) => {
    const second = troubleOf(error);
    if (second.kind === "rethrow") throw error;
    await waitOutage(rollout, trouble.message);
  });
}
