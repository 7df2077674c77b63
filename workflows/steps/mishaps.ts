/** Responds to failures of tasks and of reconciles: reports them and waits. */
import type { Part, Telling } from "../state/rollout.ts";
import { halt, waitOutage } from "./halt.ts";
import type { Next } from "./rollback.ts";
import { type Trouble, troubleOf } from "../state/trouble.ts";

/** If failures stopped tasks, reports one of them, waits, and returns LookAgain; otherwise returns GoOn. */
export async function answerMishaps(
  rollout: Telling & Part<"loop" | "target">,
): Promise<Next> {
  const mishaps = rollout.loop.mishaps.splice(0);
  // Only one failure is reported and waited for, because in an outage every task stops with the same failure.
  const mishap = mishaps.find(({ kind }) => kind === "halt") ?? mishaps[0];
  if (mishap === undefined) return "GoOn";
  const begun = Date.now();
  await waitOver(rollout, mishap);
  postponeSettling(rollout, Date.now() - begun);
  return "LookAgain";
}

/** Halts or waits for the API, depending on the kind of failure; returns immediately for all other kinds. */
export async function waitOver(rollout: Telling, trouble: Trouble): Promise<void> {
  if (trouble.kind === "halt") await haltOrWait(rollout, trouble);
  if (trouble.kind === "unreachable") await waitOutage(rollout, trouble.message);
}

/** Extends the `settle` deadlines by `ms`, in which nothing could be read or done. */
export function postponeSettling({ loop, target }: Part<"loop" | "target">, ms: number): void {
  for (const each of [loop.settling, target.keeping]) if (each) each.since = Math.min(each.since + ms, Date.now());
}

// If the halt cannot be reported, for example because the MachineDeployment was deleted, waits as in an outage.
async function haltOrWait(rollout: Telling, trouble: { reason: string; message: string }): Promise<void> {
  await halt(rollout, trouble.reason, trouble.message).catch(async (error: unknown) => {
    const second = troubleOf(error);
    if (second.kind === "rethrow") throw error;
    await waitOutage(rollout, trouble.message);
  });
}
