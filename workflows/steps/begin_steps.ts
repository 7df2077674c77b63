/** Begins what a plan names. */
import type { Member } from "../contracts/mod.ts";
import { admit, watchAgain } from "../machine/admit.ts";
import type { Admitting } from "../machine/admit.ts";
import { beginRemoval, beginRepair, spare } from "../machine/remove_machine.ts";
import type { Sparer } from "../machine/remove_machine.ts";
import { beginStage } from "../machine/stage_image.ts";
import { beginUpdate } from "../machine/update_in_place.ts";
import { beginWaveGates, waveName } from "../machine/wave_gates.ts";
import type { Blocked, Step } from "../policy/turn.ts";
import { supplierOf } from "../policy/supplier/supplier_of.ts";
import { write, writeAlone } from "../proxies.ts";
import { nudge } from "../state/loop.ts";
import type { Part, Seen } from "../state/rollout.ts";
import { isIdle } from "../state/tasks.ts";
import { isGivenUp } from "./quarantine.ts";
import { takeSlot } from "./slots.ts";

/** What the steps of a plan touch: not what is desired, nor what people asked for. */
export type Beginning = Admitting & Part<"waves">;

/** Begins all of them, except about what ended since the machines were looked at; gives what stood in the way. */
export async function beginSteps(rollout: Beginning, planned: readonly Step[]): Promise<Blocked | undefined> {
  const { settings: { pool }, tasks, loop } = rollout;
  const steps = planned.filter((step) => !tasks.justEnded.includes(subjectOf(step)));
  const spared = steps.flatMap((step) => step.kind === "spare" ? [step.machine] : []);
  const by = sparerOf(tasks, spared);
  await Promise.all(spared.map(({ id }) => spare(pool, id, { by })));
  let shut: Blocked | undefined;
  for (const step of steps) {
    // What needs no place of the shared budget goes on.
    if (shut && needsPlace(rollout, step)) continue;
    shut = await beginStep(rollout, step) ?? shut;
  }
  if (spared.some((member) => isIdle(tasks) || isCounted(rollout, member))) nudge(loop);
  return shut;
}

/** As many are spared in one workflow task as surely have time in it. */
const sparedAlone = 10;

function sparerOf(tasks: Seen["tasks"], { length }: Member[]): Sparer {
  return length > 0 && length <= sparedAlone && isIdle(tasks) ? writeAlone : write;
}

/** What is planned next may depend on its mark or hold: not so where a newcomer has passed and bears nothing but a mark. */
function isCounted({ target: { desired } }: Seen<"target">, { held, templateHash }: Member): boolean {
  return held || templateHash !== desired?.templateHash;
}

async function beginStep(rollout: Beginning, step: Step): Promise<Blocked | undefined> {
  switch (step.kind) {
    case "spare":
      return undefined;
    case "join":
      return void await watchAgain(rollout, step);
    case "leave":
      return await remove(rollout, step);
    case "repair":
      if (rollout.target.desired?.isControlPlane) await takePlace(rollout, step.machine);
      return void beginRepair(rollout, step.machine);
    case "gates":
      return void beginWaveGates(rollout, step);
    case "admit":
      return await admit(rollout, step);
    case "stage":
      return void beginStage(rollout, step.machine);
    case "update":
      return await updateInPlace(rollout, step);
  }
}

/** It begins a replacement: by letting a newcomer in for another, or, where there is no room, by draining. */
function needsPlace({ settings, target: { desired } }: Seen<"settings" | "target">, step: Step): boolean {
  if (step.kind === "admit") return step.victim !== null;
  if (step.kind === "update") return !step.isResumed;
  if (step.kind !== "leave" || !desired || supplierOf(settings.pool.kind).roomOf(desired) > 0) return false;
  const { node, lost, templateHash } = step.machine;
  // One that serves nobody was out before.
  return desired.replicas > 0 && node !== undefined && !lost && templateHash !== desired.templateHash;
}

async function remove(rollout: Beginning, step: Step & { kind: "leave" }): Promise<Blocked | undefined> {
  if (needsPlace(rollout, step)) {
    const full = await takeSlot(rollout, step.machine.id);
    if (full) return full;
    // Somebody paused or aborted meanwhile, or the change was given up: plan again.
    if (rollout.people.heard || isGivenUp(rollout)) return undefined;
  }
  return void beginRemoval(rollout, step.machine);
}

/** So that no other control plane goes meanwhile. Where all are taken it is mended all the same: who is ill was out before. */
async function takePlace(rollout: Beginning, { id }: Member): Promise<void> {
  await takeSlot(rollout, id);
}

async function updateInPlace(rollout: Beginning, step: Step & { kind: "update" }): Promise<Blocked | undefined> {
  if (!step.isResumed) {
    const full = await takeSlot(rollout, step.machine.id);
    if (full) return full;
    if (rollout.people.heard || isGivenUp(rollout)) return undefined;
  }
  return void beginUpdate(rollout, step.machine);
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
