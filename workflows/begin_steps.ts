/** Begins the steps of a plan: takes the slots that they need, and starts the task of each machine. */
import type { Member } from "./contracts/mod.ts";
import { prepareWaveGates } from "./machine/gates.ts";
import { prepareJoin } from "./machine/join_machine.ts";
import { prepareRemoval, prepareRepair } from "./machine/remove_machine.ts";
import { prepareStage } from "./machine/stage_image.ts";
import { prepareUpdate } from "./machine/update_in_place.ts";
import { begin } from "./machine/work.ts";
import { supplierOf } from "./policy/supplier.ts";
import type { Blocked, Step, Turn } from "./policy/turn.ts";
import { spare, type Sparer, write, writeAlone } from "./proxies.ts";
import { nudge } from "./state/loop.ts";
import { restartBoot } from "./state/machines.ts";
import { isGivenUp } from "./state/quarantine.ts";
import { type Part, type Seen, tell, warn } from "./state/rollout.ts";
import { isIdle } from "./state/tasks.ts";
import { waveName } from "./state/waves.ts";
import { takeSlot } from "./steps/slots.ts";

/**
 * The parts of the state that steps read and change; they change neither the desired state nor the commands of people.
 */
type Beginning =
  & Seen<"settings" | "target" | "people">
  & Part<"waves" | "machines" | "tasks" | "slots" | "records" | "memory" | "loop" | "view">;

/**
 * Begins all steps of a plan, except for machines whose task has ended since the machines were read. Records why no
 * further step begins.
 */
export async function beginSteps(rollout: Beginning, { steps: planned, blocked }: Turn): Promise<void> {
  const { settings: { pool }, tasks, loop, view } = rollout;
  if (blocked?.reason === "NodeUnclear" && view.blocked?.message !== blocked.message) {
    warn(view, blocked.reason, blocked.message);
  }
  view.blocked = blocked;
  const steps = planned.filter((step) => !tasks.justEnded.includes(subjectOf(step)));
  const spared = steps.flatMap((step) => step.kind === "spare" ? [step.machine] : []);
  const by = sparerOf(tasks, spared);
  await Promise.all(spared.map(({ id }) => spare(pool, id, { by })));
  let shut: Blocked | undefined;
  for (const step of steps) {
    // Without a free slot of the shared budget, only steps that need none begin.
    if (shut && needsSlot(rollout, step)) continue;
    shut = await beginStep(rollout, step) ?? shut;
  }
  if (spared.some((member) => isIdle(tasks) || isCounted(rollout, member))) nudge(loop);
  view.blocked = shut ?? blocked;
}

/** Maximum number of machines that local activities unmark in one workflow task, so that the task does not time out. */
const sparedAlone = 10;

function sparerOf(tasks: Seen["tasks"], { length }: Member[]): Sparer {
  return length > 0 && length <= sparedAlone && isIdle(tasks) ? writeAlone : write;
}

/**
 * Returns whether the next plan may depend on the mark or hold of a machine. True for a machine that is held or has an
 * old template; false for a new machine that is not held and has only a mark.
 */
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
      // While the repair has the slot, no other control plane is removed. Without a free slot the repair begins all the
      // same, because its machine is already out of service.
      if (rollout.target.desired?.isControlPlane) await takeSlot(rollout, step.machine.id, { begun: true });
      return void begin(rollout, prepareRepair(rollout, step.machine));
    case "gates":
      return void begin(rollout, prepareWaveGates(rollout, step));
    case "admit":
      return await admit(rollout, step);
    case "stage":
      return void begin(rollout, prepareStage(rollout, step.machine));
    case "update":
      return await updateInPlace(rollout, step);
  }
}

/**
 * Returns whether a step takes a machine out of service, which needs a slot. Such a step admits a new machine for an
 * old one, drains an old machine without surge, or begins an update in place.
 */
function needsSlot({ settings, target: { desired } }: Seen<"settings" | "target">, step: Step): boolean {
  if (step.kind === "admit") return step.victim !== null;
  if (step.kind === "update") return !step.isResumed;
  if (step.kind !== "leave" || !desired || supplierOf(settings.pool.kind).roomOf(desired) > 0) return false;
  const { node, lost, templateHash } = step.machine;
  // A lost machine, or a machine without a node, is already out of service, so its removal needs no slot.
  return desired.replicas > 0 && node !== undefined && !lost && templateHash !== desired.templateHash;
}

async function remove(rollout: Beginning, step: Step & { kind: "leave" }): Promise<Blocked | undefined> {
  if (needsSlot(rollout, step)) {
    const full = await takeSlot(rollout, step.machine.id);
    if (full) return full;
    // A command arrived, or the change was given up, while the slot was requested: the run plans again.
    if (rollout.people.heard || isGivenUp(rollout)) return undefined;
  }
  return void begin(rollout, prepareRemoval(rollout, step.machine));
}

async function updateInPlace(rollout: Beginning, step: Step & { kind: "update" }): Promise<Blocked | undefined> {
  if (!step.isResumed) {
    const full = await takeSlot(rollout, step.machine.id);
    if (full) return full;
    if (rollout.people.heard || isGivenUp(rollout)) return undefined;
  }
  return void begin(rollout, prepareUpdate(rollout, step.machine));
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

/**
 * Begins the task that admits a new machine and waits until it joins. If the machine replaces another one, takes a slot
 * of the shared budget first, and the task also marks the other machine.
 */
async function admit(rollout: Beginning, step: Step & { kind: "admit" }): Promise<Blocked | undefined> {
  const { machines, view } = rollout;
  const { newcomer, victim, attempt } = step;
  const full = victim ? await takeSlot(rollout, newcomer.id) : undefined;
  if (full) return full;
  if (isStale(rollout, newcomer)) return undefined;
  // The join deadlines of a machine that is still held count from now, even if an earlier attempt to admit it began
  // them.
  if (newcomer.phase === "Held") restartBoot(machines, newcomer.id);
  const replaces = victim ? ` to replace machine "${victim.id}"` : "";
  tell(view, "MachineAdmitted", `Admitted machine "${newcomer.id}"${replaces}`);
  const replacing = victim ? { victim: victim.id } : {};
  return void begin(rollout, prepareJoin(rollout, { machine: newcomer.id, attempt, isIn: false, ...replacing }));
}

/**
 * Begins the task that waits until a machine that already boots joins. If the pool has given back the slot that the
 * machine needs, tries once to take a slot again.
 */
async function watchAgain(rollout: Beginning, step: Step & { kind: "join" }): Promise<void> {
  if (hasLostSlot(rollout, step.machine)) {
    await takeSlot(rollout, step.machine, { begun: true });
    // A command arrived, or the change was given up, while the slot was requested: the run plans again.
    if (rollout.people.heard || isGivenUp(rollout)) return;
  }
  begin(rollout, prepareJoin(rollout, { machine: step.machine, attempt: step.attempt, isIn: true }));
}

// Returns whether the plan is outdated, because a command arrived after it, or the change of a machine that is not
// admitted yet was given up.
function isStale(rollout: Seen<"people" | "machines" | "memory" | "target">, { phase }: Member): boolean {
  return rollout.people.heard || (phase === "Held" && isGivenUp(rollout));
}

// Returns whether the pool has fewer slots than marked machines, as after a `retry` command: a machine that failed for
// good gave its slot back, and needs a slot again for its retry.
function hasLostSlot(
  { target: { rules }, people, machines, slots }: Seen<"target" | "people" | "machines" | "slots">,
  machine: string,
): boolean {
  if (!rules || rules.budget.cluster === null || people.retriedAt === 0 || !machines.booting[machine]) return false;
  const { old = [], leaving = [] } = machines.snapshot ?? {};
  return slots.held.length < [...old, ...leaving].filter(({ marked }) => marked).length;
}
