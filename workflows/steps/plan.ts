/** Calls the planner, begins the planned steps, and records the state of the waves. */
import { isApproved } from "../state/approval.ts";
import type { Boot, Desired, DesiredState, Member, PoolQuestion, PoolSnapshot, Rules } from "../contracts/mod.ts";
import { callOff } from "../machine/tasks.ts";
import { withoutTaken } from "../policy/etcd.ts";
import { stillNews, withLately } from "../policy/in_place.ts";
import { planTurn } from "../policy/plan_turn.ts";
import { withReplaceable } from "../policy/replaced.ts";
import { supplierOf } from "../policy/supplier.ts";
import { type Blocked, machinesOf, type Situation, type Step, type Turn, usualReplacement } from "../policy/turn.ts";
import { isRelisted } from "../policy/waves.ts";
import { iso, nudge } from "../state/loop.ts";
import { type Part, type Seen, tell, warn } from "../state/rollout.ts";
import { busyWith, isIdle } from "../state/tasks.ts";
import { isGivenUp, isQuarantined } from "../machine/quarantine.ts";
import { readBeside, write, writeAlone } from "../proxies.ts";
import { dropOut } from "../state/machines.ts";
import { admit, type Admitting, watchAgain } from "../machine/join_machine.ts";
import { beginRemoval, beginRepair, spare, type Sparer } from "../machine/remove_machine.ts";
import { beginStage } from "../machine/stage_image.ts";
import { beginUpdate } from "../machine/update_in_place.ts";
import { beginWaveGates, waveName } from "../machine/gates.ts";
import { takeSlot } from "../machine/slots.ts";

/** The result of a read of the pool. */
interface Found {
  desired: Desired;
  rules: Rules;
  pool: PoolSnapshot;
}

/** The groups that the planner reads. */
type Planning = Seen<"settings" | "target" | "people" | "waves" | "machines" | "tasks" | "memory">;

/**
 * Forgets accepted etcd checks that are no longer reported, so that the same check an hour later is inconclusive again.
 */
export function forgetTaken(
  { people, tasks: { running } }: Part<"people"> & Seen<"tasks">,
  { etcd }: PoolSnapshot,
): void {
  if (people.takenDoubts.length === 0) return;
  const told = [
    ...(etcd?.doubts ?? []).map(({ says }) => says),
    ...Object.values(running).flatMap(({ etcdDoubts = [] }) => etcdDoubts),
  ];
  const left = people.takenDoubts.filter((says) => told.includes(says));
  if (left.length < people.takenDoubts.length) people.takenDoubts = left;
}

/** Returns the steps that can begin now, and what blocks the rest. */
export function planOf(rollout: Planning, found: Found): Turn {
  const turn = planTurn(situation(rollout, found));
  const isOff = ({ kind }: Step): boolean =>
    // Failed gates fail again until a person sends retry.
    ((kind === "admit" || kind === "stage") && isFinishingEarlier(rollout)) ||
    (kind === "gates" && isQuarantined(rollout));
  return { ...turn, steps: turn.steps.filter((step) => !isOff(step)) };
}

function situation(rollout: Planning, { desired, rules, pool }: Found): Situation {
  const { settings, people, waves, machines, tasks, memory } = rollout;
  return {
    now: Date.now(),
    supplier: supplierOf(settings.pool.kind),
    desired,
    rules,
    pool: withLately(
      withReplaceable(withoutTaken(pool, people.takenDoubts), rules),
      machines.lately,
      desired.templateHash,
    ),
    busy: {
      joining: [...busyWith(tasks, "join"), ...machines.failed],
      leaving: busyWith(tasks, "leave"),
      repairing: busyWith(tasks, "repair"),
      staging: busyWith(tasks, "stage"),
      updating: busyWith(tasks, "update"),
      victims: Object.values(tasks.running).flatMap(({ victim }) => victim ?? []),
    },
    booting: machines.booting,
    updatesBegun: machines.updating,
    rolled: waves.rolled,
    wave: waves.current,
    countedBy: waves.countedBy ?? undefined,
    retries: machines.retries,
    skipped: people.skipped,
    setAside: machines.setAside,
    repaired: machines.repaired,
    paused: people.paused !== null,
    quarantined: isQuarantined(rollout),
    rollingBack: memory.rollback !== null,
    approved: isApproved(rollout),
    usual: usualReplacement(memory.usual),
  };
}

/** Returns whether machines of an earlier change still boot and the policy requires them to finish first. */
function isFinishingEarlier({ machines, target: { desired, rules } }: Seen<"machines" | "target">): boolean {
  // Boots decide and not tasks, as a task may have been called off to begin again.
  const isEarlier = ({ templateHash = desired?.templateHash }: Boot): boolean => templateHash !== desired?.templateHash;
  return rules?.onNewChange === "Finish" && Object.values(machines.booting).some(isEarlier);
}

/** Takes over the state of the waves from a plan, and reports its changes. */
export function noteWaves(
  { waves, tasks, view }: Part<"waves" | "tasks" | "view">,
  { wave }: Turn,
  { desired, rules }: Found,
): void {
  const { current, countedBy } = waves;
  if (rules.conflict === null) {
    // Gates of a wave that no longer exists say nothing about the wave that has its number now.
    const isOther = wave.index < current.index || (countedBy && isRelisted(countedBy, rules));
    if (isOther) {
      callOff(tasks, ({ kind }) => kind === "gates");
      waves.gates = null;
    }
    waves.countedBy = { waves: rules.waves, growth: rules.growth, replicas: desired.replicas };
  }
  if (wave.index > current.index) tell(view, "WaveCompleted", `Wave ${current.index + 1} completed`);
  if (wave.soakUntil !== null && current.soakUntil === null && wave.soakUntil > Date.now()) {
    tell(view, "SoakStarted", `Wave ${wave.index + 1} soaks until ${iso(wave.soakUntil)}`);
  }
  waves.current = wave;
}

// Reads the machines of a run.

/** Returns the question by which this run reads its pool. */
export function questionOf(
  { settings, machines, people }: Seen<"settings" | "machines"> & Partial<Seen<"people">>,
  desired: Desired,
  rules: Rules,
): PoolQuestion {
  const most = machinesOf(rules.budget.machines, desired.replicas);
  return {
    pool: settings.pool,
    templateHash: desired.templateHash,
    unproven: [...Object.keys(machines.booting), ...machines.failed, ...Object.keys(machines.updating)],
    repair: rules.repair,
    ...(people && people.retriedAt > 0 && settings.pool.kind === "NodePool" ? { retriedAt: people.retriedAt } : {}),
    limit: Math.max(20, 2 * Math.min(most, supplierOf(settings.pool.kind).roomOf(desired) || most)),
  };
}

/** Returns the question of a reconcile, which also names skipped machines and machines whose update failed. */
function lookQuestionOf(
  { people, ...rollout }: Seen<"settings" | "people" | "machines">,
  desired: Desired,
  rules: Rules,
): PoolQuestion {
  const out = Object.entries(rollout.machines.updating).flatMap(([id, { isOut }]) => isOut ? [id] : []);
  const named = [...people.skipped, ...out];
  return { ...questionOf({ ...rollout, people }, desired, rules), ...(named.length > 0 ? { named } : {}) };
}

/**
 * Returns the next question of a reconcile unless the desired state changes; undefined while the desired state is
 * unknown.
 */
export function nextQuestionOf(
  { settings, people, machines, target: { desired, rules } }: Seen<"settings" | "people" | "machines" | "target">,
): PoolQuestion | undefined {
  if (!desired?.settled || !rules) return undefined;
  return lookQuestionOf({ settings, people, machines }, desired, rules);
}

/** Reads the desired state and the machines; this reconcile uses the snapshot unless its question has changed. */
export async function readRound(
  { machines, tasks }: Part<"machines" | "tasks">,
  question: PoolQuestion,
): Promise<DesiredState> {
  const [summary, asked] = ["Read the desired state and the machines", JSON.stringify(question)];
  tasks.justEnded = [];
  const { seen, pool } = await readBeside(tasks).readRound.executeWithOptions({ summary }, [question]);
  if (pool) machines.glance = { asked, pool };
  return seen;
}

/** Reads the machines, as many as matter next. */
export async function look(
  { settings, people, machines, tasks, waves, view }:
    & Seen<"settings">
    & Part<"people" | "machines" | "tasks" | "waves" | "view">,
  desired: Desired,
  rules: Rules,
): Promise<PoolSnapshot> {
  const question = lookQuestionOf({ settings, people, machines }, desired, rules);
  const glance = glanceAt(machines, question);
  machines.glance = undefined;
  if (!glance) tasks.justEnded = [];
  const pool = glance ??
    await readBeside(tasks).readPool.executeWithOptions({ summary: "Read the machines" }, [question]);
  machines.lately = stillNews(machines.lately, pool, Date.now());
  machines.snapshot = pool;
  machines.failed = stillThere(machines.failed, pool, question.limit);
  const isOfAnother = ({ templateHash }: Member): boolean => templateHash !== desired.templateHash;
  dropOut(machines, (id, update) => update.templateHash !== desired.templateHash || isUnknown(pool, id));
  dropUnknown({ people, view }, pool);
  waves.rolled ||= pool.counts.old > 0 || pool.leaving.some(isOfAnother);
  return pool;
}

/** Returns the snapshot that was read with the desired state, if it answers the question. */
function glanceAt({ glance }: Seen["machines"], question: PoolQuestion): PoolSnapshot | undefined {
  const isAnswered = glance?.asked === null ? question.named === undefined : glance?.asked === JSON.stringify(question);
  return isAnswered ? glance?.pool : undefined;
}

function isUnknown({ unknown = [] }: PoolSnapshot, machine: string): boolean {
  return unknown.includes(machine);
}

/**
 * Drops skipped machines that the pool does not have: no list names all machines, so only a read finds a mistyped name
 * or a deleted machine.
 */
function dropUnknown({ people, view }: Part<"people" | "view">, { unknown = [] }: PoolSnapshot): void {
  const mistyped = people.skipped.filter((machine) => unknown.includes(machine));
  if (mistyped.length === 0) return;
  people.skipped = people.skipped.filter((machine) => !unknown.includes(machine));
  const names = mistyped.map((machine) => `"${machine}"`).join(", ");
  warn(view, "CommandIgnored", `Cannot skip ${names}: no such machine in this pool`);
}

/** Returns failed machines that still exist; a Ready machine is listed nowhere, so when in doubt all of them exist. */
function stillThere(failed: string[], { counts, waiting, joining }: PoolSnapshot, limit: number): string[] {
  const unlisted = counts.updated - counts.updatedReady - waiting.length - joining.length;
  if (unlisted > 0 || joining.length >= limit) return failed;
  return failed.filter((machine) => joining.some(({ id }) => id === machine));
}

// Begins the steps of a plan.

/** The groups that steps change: neither the desired state nor the commands of people. */
type Beginning = Admitting & Part<"waves">;

/** Begins all steps, except for machines whose task ended since the machines were read; returns what blocked a step. */
export async function beginSteps(rollout: Beginning, planned: readonly Step[]): Promise<Blocked | undefined> {
  const { settings: { pool }, tasks, loop } = rollout;
  const steps = planned.filter((step) => !tasks.justEnded.includes(subjectOf(step)));
  const spared = steps.flatMap((step) => step.kind === "spare" ? [step.machine] : []);
  const by = sparerOf(tasks, spared);
  await Promise.all(spared.map(({ id }) => spare(pool, id, { by })));
  let shut: Blocked | undefined;
  for (const step of steps) {
    // Steps without a slot of the shared budget continue.
    if (shut && needsPlace(rollout, step)) continue;
    shut = await beginStep(rollout, step) ?? shut;
  }
  if (spared.some((member) => isIdle(tasks) || isCounted(rollout, member))) nudge(loop);
  return shut;
}

/** How many machines are unmarked in one workflow task: as many as surely fit. */
const sparedAlone = 10;

function sparerOf(tasks: Seen["tasks"], { length }: Member[]): Sparer {
  return length > 0 && length <= sparedAlone && isIdle(tasks) ? writeAlone : write;
}

/**
 * Returns whether the next plan may depend on the mark or hold of a machine: it does not for a new machine that has
 * passed its gates and has only a mark.
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

/**
 * Returns whether a step begins a replacement, by admitting a new machine for an old one or, without surge, by
 * draining.
 */
function needsPlace({ settings, target: { desired } }: Seen<"settings" | "target">, step: Step): boolean {
  if (step.kind === "admit") return step.victim !== null;
  if (step.kind === "update") return !step.isResumed;
  if (step.kind !== "leave" || !desired || supplierOf(settings.pool.kind).roomOf(desired) > 0) return false;
  const { node, lost, templateHash } = step.machine;
  // A machine that serves nothing was already out.
  return desired.replicas > 0 && node !== undefined && !lost && templateHash !== desired.templateHash;
}

async function remove(rollout: Beginning, step: Step & { kind: "leave" }): Promise<Blocked | undefined> {
  if (needsPlace(rollout, step)) {
    const full = await takeSlot(rollout, step.machine.id);
    if (full) return full;
    // A pause, an abort or a given-up change arrived meanwhile: plan again.
    if (rollout.people.heard || isGivenUp(rollout)) return undefined;
  }
  return void beginRemoval(rollout, step.machine);
}

/**
 * Takes the slot so that no other control plane is removed meanwhile. Without a free slot the repair continues: an
 * unhealthy machine was already out.
 */
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
