/** One look at the machines, and everything that may begin now. */
import type { Boot, Desired, Member, PoolSnapshot, RollOutResult, Rules } from "../contracts/mod.ts";
import { isApproved } from "../commands/approval.ts";
import { leavePlan, planWhereAsked } from "../commands/asked_plan.ts";
import { converge } from "./endings.ts";
import { passGates } from "../machine/gates.ts";
import { halt } from "./halt.ts";
import { beginJoin } from "../machine/join_machine.ts";
import { look } from "./look.ts";
import { planTurn } from "../policy/plan_turn.ts";
import { supplierOf } from "../policy/supplier/supplier_of.ts";
import type { Blocked, Situation, Step, Turn } from "../policy/turn.ts";
import { usualReplacement } from "../policy/usual.ts";
import { isRelisted } from "../policy/waves.ts";
import { write } from "../proxies.ts";
import { giveUp, isGivenUp, isQuarantined } from "./quarantine.ts";
import { beginRemoval, beginRepair, missedIn, noteMissed, spare } from "../machine/remove_machine.ts";
import { show } from "../status/report.ts";
import { overdueOf, rest } from "./rest.ts";
import { iso, tell } from "../state/rollout.ts";
import type { Rollout, Task } from "../state/rollout.ts";
import { giveBackSlots, takeSlot } from "./slots.ts";
import { begin, busyWith, callOff } from "../machine/tasks.ts";

/** Begins what the plan names, and waits until it is time to look again; gives a result when nothing is left to do. */
export async function takeTurn(rollout: Rollout, desired: Desired, rules: Rules): Promise<RollOutResult | undefined> {
  const pool = await look(rollout, desired, rules);
  const missed = missedIn(pool, rollout);
  if (missed.length > 0) await noteMissed(rollout, missed);
  await giveBackSlots(rollout);
  await planWhereAsked(rollout, desired, rules);
  // Given up while this was read: a turn on the way back is planned by what it leads to.
  if (rollout.rollBack && isGivenUp(rollout)) return undefined;
  const turn = plan(rollout, { desired, rules, pool });
  noteCount(rollout, turn, { desired, rules });
  const { wave: before } = rollout;
  noteWave(rollout, turn);
  const isNextAsked = leavePlan(rollout, before);
  rollout.blocked = turn.blocked;
  const shut = await beginAll(rollout, turn.steps.filter((step) => !rollout.justEnded.includes(subjectOf(step))));
  rollout.blocked = shut ?? turn.blocked;
  if (turn.converged) return await converge(rollout, desired);
  if (isNextAsked) await planWhereAsked(rollout, desired, rules);
  const overdue = overdueOf(rollout, turn, pool);
  if (overdue === undefined) await show(rollout, turn);
  await (overdue === undefined ? rest(rollout, turn, pool) : halt(rollout, "SettleExpired", overdue));
  return undefined;
}

function plan(rollout: Rollout, seen: { desired: Desired; rules: Rules; pool: PoolSnapshot }): Turn {
  const turn = planTurn(situation(rollout, seen));
  const isOff = ({ kind }: Step): boolean =>
    // Gates that failed say the same again until a person says retry.
    (kind === "admit" && isFinishingEarlier(rollout)) || (kind === "gates" && isQuarantined(rollout));
  return { ...turn, steps: turn.steps.filter((step) => !isOff(step)) };
}

function situation(
  rollout: Rollout,
  seen: { desired: Desired; rules: Rules; pool: PoolSnapshot },
): Situation {
  const { booting, rolled, wave, countedBy, retries, skipped, setAside, repaired, memory } = rollout;
  const busy = {
    joining: [...busyWith(rollout, "join"), ...rollout.failed],
    leaving: busyWith(rollout, "leave"),
    repairing: busyWith(rollout, "repair"),
    victims: Object.values(rollout.tasks).flatMap(({ victim }) => victim ?? []),
  };
  return {
    ...{
      now: Date.now(),
      supplier: supplierOf(),
      ...seen,
      busy,
      booting,
      rolled,
      wave,
      retries,
      skipped,
      setAside,
      repaired,
    },
    paused: memory.paused !== null,
    quarantined: isQuarantined(rollout),
    rollingBack: rollout.rollBack !== null,
    ...{ approved: isApproved(rollout), countedBy: countedBy ?? undefined },
    usual: usualReplacement(memory.usual),
  };
}

/** Machines of an earlier change are still under way, and the policy wants them finished first. */
function isFinishingEarlier({ booting, desired, rules }: Rollout): boolean {
  // Not by what is under way: that may have been called off to be begun again.
  const isEarlier = ({ templateHash = desired?.templateHash }: Boot): boolean => templateHash !== desired?.templateHash;
  return rules?.onNewChange === "Finish" && Object.values(booting).some(isEarlier);
}

// What is asked about a wave that is no more says nothing about the one that has its number now.
function noteCount(rollout: Rollout, { wave }: Turn, { desired, rules }: { desired: Desired; rules: Rules }): void {
  const { waves, growth, conflict } = rules;
  if (conflict !== null) return;
  const isOther = wave.index < rollout.wave.index || (rollout.countedBy && isRelisted(rollout.countedBy, rules));
  if (isOther) callOff(rollout, ({ kind }) => kind === "gates");
  rollout.countedBy = { waves, growth, replicas: desired.replicas };
}

function noteWave(rollout: Rollout, { wave }: Turn): void {
  const before = rollout.wave;
  if (wave.index > before.index) tell(rollout, "WaveCompleted", `Wave ${before.index + 1} is done`);
  if (wave.soakUntil !== null && before.soakUntil === null && wave.soakUntil > Date.now()) {
    tell(rollout, "SoakStarted", `Wave ${wave.index + 1} soaks until ${iso(wave.soakUntil)}`);
  }
  rollout.wave = wave;
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

function waveName(index: number): string {
  return `wave ${index + 1}`;
}

async function beginAll(rollout: Rollout, steps: Step[]): Promise<Blocked | undefined> {
  const spared = steps.flatMap((step) => step.kind === "spare" ? [step.machine.id] : []);
  await Promise.all(spared.map((machine) => spare(rollout, machine)));
  if (spared.length > 0) rollout.nudged = true;
  let shut: Blocked | undefined;
  for (const step of steps) {
    // What needs no place of the shared budget goes on.
    if (shut && step.kind === "admit" && step.victim) continue;
    shut = await beginStep(rollout, step) ?? shut;
  }
  return shut;
}

async function beginStep(rollout: Rollout, step: Step): Promise<Blocked | undefined> {
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

// What boots already is seen through: with a place of the shared budget where it gave its own back and there is one.
async function watchAgain(rollout: Rollout, step: Step & { kind: "join" }): Promise<void> {
  if (hasLostPlace(rollout, step.machine)) {
    await takeSlot(rollout, step.machine);
    // Somebody may have asked for something meanwhile, or the change was given up: plan again.
    if (rollout.heard || isGivenUp(rollout)) return;
  }
  beginJoin(rollout, step);
}

// One that failed for good has given it back, and replaces somebody again when it is tried again.
function hasLostPlace({ rules, retriedAt, booting, slots, snapshot }: Rollout, machine: string): boolean {
  if (!rules || rules.budget.cluster === null || retriedAt === 0 || !booting[machine]) return false;
  const chosen = [...snapshot?.old ?? [], ...snapshot?.leaving ?? []].filter(({ marked }) => marked);
  return slots.length < chosen.length;
}

async function admit(rollout: Rollout, step: Step & { kind: "admit" }): Promise<Blocked | undefined> {
  const { newcomer, victim, attempt } = step;
  const full = victim ? await takeSlot(rollout, newcomer.id) : undefined;
  if (full) return full;
  // Somebody paused or aborted since this was planned, or the change was given up: plan again.
  if (rollout.heard || (newcomer.phase === "Held" && isGivenUp(rollout))) return undefined;
  // One that never was admitted begins now, however long ago it was chosen.
  if (newcomer.phase === "Held") restartBoot(rollout, newcomer.id);
  const replaces = victim ? `, which replaces ${victim.id}` : "";
  tell(rollout, "MachineAdmitted", `Admitted ${newcomer.id}${replaces}`);
  beginJoin(rollout, { machine: newcomer.id, attempt, ...(victim ? { victim: victim.id } : {}) }, async () => {
    if (victim) await markVictim(rollout, victim);
    await write.ensureMachineAdmitted.executeWithOptions({ summary: `Admit ${newcomer.id}` }, [
      { pool: rollout.pool, machine: newcomer.id },
    ]);
    if (!victim) rollout.repaired = rollout.repaired.slice(1);
  });
  return undefined;
}

async function markVictim({ pool }: Rollout, { id }: Member): Promise<void> {
  await write.ensureVictimMarked.executeWithOptions({ summary: `Choose ${id} to go` }, [{ pool, machine: id }]);
}

function beginWaveGates(rollout: Rollout, { wave: index, upTo }: Step & { kind: "gates" }): void {
  const { templateHash = "" } = rollout.desired ?? {};
  const now = Date.now();
  const subject = waveName(index);
  const task: Task = {
    ...{ kind: "gates", subject, templateHash, step: "Gates", since: now, until: now },
    ...{ attempt: 0, blockers: [], doubt: "" },
  };
  begin(rollout, task, async () => {
    const key = `${templateHash} ${subject} up to ${upTo} ${rollout.startedAt}`;
    const failed = await passGates(rollout, task, { run: "EachWave", key });
    if (failed) return await giveUp(rollout, { reason: "GateFailed", message: `${subject}: ${failed}` });
    // Promoted to the end meanwhile, this is another wave.
    if (rollout.wave.index === index) rollout.wave = { ...rollout.wave, passed: true };
  });
}

function restartBoot({ booting }: Rollout, machine: string): void {
  if (booting[machine]) booting[machine] = { ...booting[machine], since: Date.now() };
}
