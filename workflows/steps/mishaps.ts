/** What is done about what went wrong. */
import type { Part, Telling } from "../state/rollout.ts";
import { halt, waitOutage } from "./halt.ts";
import type { Outcome } from "./rollback.ts";
import { troubleOf } from "./trouble.ts";
import type { Trouble } from "./trouble.ts";

/** Tells what tasks stopped with, and waits. */
export async function answerMishaps(rollout: Telling & Part<"loop">): Promise<Outcome> {
  const mishaps = rollout.loop.mishaps.splice(0);
  // All of them at once: in an outage every task stops with the same.
  const mishap = mishaps.find(({ kind }) => kind === "halt") ?? mishaps[0];
  if (mishap === undefined) return "GoOn";
  await waitOver(rollout, mishap);
  return "LookAgain";
}

/** Waits over what went wrong, as its kind asks for; what is not ours to handle must have been thrown again. */
export async function waitOver(rollout: Telling, trouble: Trouble): Promise<void> {
  if (trouble.kind === "halt") await haltOrWait(rollout, trouble);
  if (trouble.kind === "unreachable") await waitOutage(rollout, trouble.message);
}

// A step that ran out of time while its MachineDeployment went away is no reason to halt.
async function haltOrWait(rollout: Telling, trouble: { reason: string; message: string }): Promise<void> {
  await halt(rollout, trouble.reason, trouble.message).catch(async (error: unknown) => {
    const second = troubleOf(error);
    if (second.kind === "rethrow") throw error;
    await waitOutage(rollout, trouble.message);
  });
}
