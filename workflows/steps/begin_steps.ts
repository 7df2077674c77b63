/** Begins what a plan names. */
import { admit, watchAgain } from "../machine/admit.ts";
import type { Admitting } from "../machine/admit.ts";
import { beginRemoval, beginRepair, spare } from "../machine/remove_machine.ts";
import { beginWaveGates, waveName } from "../machine/wave_gates.ts";
import type { Blocked, Step } from "../policy/turn.ts";
import { nudge } from "../state/loop.ts";
import type { Part } from "../state/rollout.ts";

/** What the steps of a plan touch: not what is desired, nor what people asked for. */
export type Beginning = Admitting & Part<"waves">;

/** Begins all of them, except about what ended since the machines were looked at; gives what stood in the way. */
export async function beginSteps(rollout: Beginning, planned: readonly Step[]): Promise<Blocked | undefined> {
  const { settings: { pool }, tasks, loop } = rollout;
  const steps = planned.filter((step) => !tasks.justEnded.includes(subjectOf(step)));
  const spared = steps.flatMap((step) => step.kind === "spare" ? [step.machine.id] : []);
  await Promise.all(spared.map((machine) => spare(pool, machine)));
  if (spared.length > 0) nudge(loop);
  let shut: Blocked | undefined;
  for (const step of steps) {
    // What needs no place of the shared budget goes on.
    if (shut && step.kind === "admit" && step.victim) continue;
    shut = await beginStep(rollout, step) ?? shut;
  }
  return shut;
}

async function beginStep(rollout: Beginning, step: Step): Promise<Blocked | undefined> {
  switch (step.kind) {
    case "spare":
      return undefined;
    case "join":
      return void await watchAgain(rollout, step);
    case "leave":
      return void beginRemoval(rollout, step.machine);
    case "repair":
      return void beginRepair(rollout, step.machine);
    case "gates":
      return void beginWaveGates(rollout, step);
    case "admit":
      return await admit(rollout, step);
  }
}

function subjectOf(step: Step): string {
  switch (step.kind) {
    case "join":
      return step.machine;
    case "admit":
      return step.newcomer.id;
    case "gates":
      return waveName(step.wave);
    default:
      return step.machine.id;
  }
}
