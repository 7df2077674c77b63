import { setTimeout as pause } from "node:timers/promises";
import type { Progress } from "../../../workflows/contracts/mod.ts";
import type { Scene } from "./scene.ts";

const deadMs = 2_000;

/** The middle of a rollout: one machine is replaced and the next newcomer boots; with one machine, its newcomer boots. */
export function isMiddle({ phase, underway, replacements }: Progress, replicas: number): boolean {
  if (phase !== "Rolling" || underway.length === 0) return false;
  // Two down without a look in between: the best moment passed unseen, any later one will do.
  if (replacements.length >= 2) return true;
  return underway.some(({ step }) => step === "Joining") && replacements.length >= Math.min(1, replicas - 1);
}

/** Kills the worker in the middle of the rollout and starts it again after two seconds; rejects when the rollout is over before. */
export async function killWorker(
  { fleet, stage, narrator, site }: Scene,
  { replicas, converged }: { replicas: number; converged: Promise<unknown> },
): Promise<void> {
  const { worker } = site.ostler;
  const tooLate = converged.then(() => {
    throw new Error("Cannot kill the worker in the middle of the rollout: the rollout was over before");
  });
  const middle = fleet.moment("the middle of the rollout", (progress) => isMiddle(progress, replicas));
  const { underway } = await stage.until("the middle of the rollout", Promise.race([middle, tooLate]));
  const newcomer = underway.find(({ step }) => step === "Joining") ?? underway[0];
  narrator.say(`  while ${newcomer?.machine} boots, the worker (process ${worker.pid}) is killed with SIGKILL`);
  worker.kill("SIGKILL");
  await stage.until("the worker to be gone", worker.exit);
  await stage.until("the worker to be missed", pause(deadMs));
  await stage.until("the worker to be back", worker.start(stage.signal));
  narrator.say(`  the worker (process ${worker.pid}) is back, and the rollout goes on`);
}
