/**
 * Waits until one machine joins within its deadlines and passes its gates; a machine that does not is recreated, up to
 * a limit.
 */
import { CancellationScope } from "@temporalio/workflow";
import type { Joined, JoinFailure, JoinVerdict, Unseen } from "../contracts/mod.ts";
import { joinDeadlines } from "../policy/waves.ts";
import { awaits, write } from "../proxies.ts";
import { countFailure, ensureBoot, keepFailed, postpone } from "../state/machines.ts";
import { giveUp } from "../state/quarantine.ts";
import { recordJoin } from "../state/results.ts";
import { type Part, type Seen, warn } from "../state/rollout.ts";
import type { Target } from "../state/target.ts";
import type { Task } from "../state/tasks.ts";
import { passGates } from "./gates.ts";
import { begin, giveBackOutage, giveBackTime } from "./tasks.ts";

/** The groups that a join changes; its machine may be the one for which the change is given up. */
type Joining =
  & Seen<"settings" | "target" | "people">
  & Part<"waves" | "machines" | "tasks" | "records" | "memory" | "loop" | "view">;

/** Begins to watch a machine; admits it first unless it is in, in place of `victim` if that is given. */
export function beginJoin(
  rollout: Joining,
  { machine, attempt, victim, isIn }: { machine: string; attempt: number; victim?: string; isIn: boolean },
): void {
  const { templateHash: desired = "", kubelet = "" } = rollout.target.desired ?? {};
  // A resumed join keeps the template its machine was admitted for.
  const boot = ensureBoot(rollout.machines, machine, { since: Date.now(), attempt, templateHash: desired, kubelet });
  const task: Task = {
    kind: "join",
    subject: machine,
    ...(victim ? { victim } : {}),
    templateHash: boot.templateHash ?? desired,
    step: "Joining",
    since: boot.since,
    until: deadlines(rollout, boot.since).ready,
    attempt: boot.attempt,
    blockers: [],
    doubt: "",
  };
  if (victim) return begin(rollout, task, () => seeJoin(rollout, task, { isIn: false }));
  begin(rollout, task, async () => {
    const begun = Date.now();
    try {
      await (isIn ? Promise.resolve() : admit(rollout, machine));
      giveBackTime(rollout, task, { begun });
    } catch (error) {
      giveBackTime(rollout, task, { begun, error });
      throw error;
    }
    await seeJoin(rollout, task, { isIn: true });
  });
}

async function admit({ settings: { pool }, machines }: Joining, machine: string): Promise<void> {
  const summary = `Admit ${machine}`;
  await write.ensureMachineAdmitted.executeWithOptions({ summary }, [{ pool, machine }]);
  machines.repaired = machines.repaired.slice(1);
}

async function seeJoin(rollout: Joining, task: Task, { isIn }: { isIn: boolean }): Promise<void> {
  const { machines } = rollout;
  const machine = task.subject;
  const verdict = await awaitJoin(rollout, task, isIn);
  if (verdict === undefined || isCalledOff()) return;
  const [joined, failure] = [verdict.joined[0], verdict.failed[0]];
  if (joined) return await prove(rollout, task, joined);
  if (failure) return await recreate(rollout, task, failure);
  delete machines.booting[machine];
}

/** Extends the deadlines by the time in which the API was unavailable. */
async function awaitJoin(rollout: Joining, task: Task, isIn: boolean): Promise<JoinVerdict | undefined> {
  const { machines } = rollout;
  const machine = task.subject;
  for (let isNext = isIn; !isCalledOff(); isNext = true) {
    const verdict = await (isNext ? askJoined(rollout, task) : enterAndJoin(rollout, task));
    if (!("unseenMs" in verdict)) return verdict;
    postpone(machines, machine, verdict.unseenMs);
    task.since += verdict.unseenMs;
    task.until += verdict.unseenMs;
  }
  return undefined;
}

function askJoined(rollout: Joining, { subject: machine, since }: Task): Promise<JoinVerdict | Unseen> {
  const { settings: { pool }, machines } = rollout;
  const { kubelet = "" } = machines.booting[machine] ?? {};
  return awaits.awaitMachinesJoined.executeWithOptions({ summary: `Wait for ${machine} to join` }, [
    { pool, kubelet, machines: [{ machine, deadlines: deadlines(rollout, since) }] },
  ]);
}

/** Admits and waits in one activity, so that the history has one entry. */
async function enterAndJoin(rollout: Joining, task: Task): Promise<JoinVerdict | Unseen> {
  const { settings: { pool }, machines } = rollout;
  const { subject: machine, victim = "", since } = task;
  const { kubelet = "" } = machines.booting[machine] ?? {};
  const begun = Date.now();
  const summary = `Admit ${machine} to replace ${victim}, and wait for it to join`;
  try {
    return await awaits.awaitReplacementJoined.executeWithOptions({ summary }, [
      { pool, kubelet, victim, machine, deadlines: deadlines(rollout, since) },
    ]);
  } catch (error) {
    giveBackOutage(rollout, task, { begun, error });
    throw error;
  }
}

async function prove(rollout: Joining, task: Task, joined: Joined): Promise<void> {
  const { machine, node } = joined;
  Object.assign(task, { step: "Gates", node });
  const key = `${task.templateHash} ${machine}`;
  const failed = await passGates(rollout, task, { run: "EachMachine", key, machine, node });
  if (failed) return await recreate(rollout, task, { machine, rung: "gates", evidence: failed });
  recordJoin(rollout, joined);
}

async function recreate(rollout: Joining, task: Task, { machine, rung, evidence }: JoinFailure): Promise<void> {
  const { settings, target, machines, view } = rollout;
  if (isOfEarlier(target, task)) return dropEarlier(rollout, machine);
  const attempt = (machines.booting[machine]?.attempt ?? 0) + 1;
  const allowed = target.rules?.join.attempts ?? settings.attempts;
  const isLast = attempt > allowed;
  const next = isLast ? "no attempts left" : `recreating the machine, attempt ${attempt} of ${allowed}`;
  const message = `Machine "${machine}" did not pass join stage "${rung}": ${evidence}`;
  warn(view, "JoinDeadlineExceeded", `${message}; ${next}`);
  if (isLast && judgeFailed(rollout, machine, message) === "GivenUp") return;
  const { pool } = settings;
  await write.deleteMachine.executeWithOptions({ summary: `Recreate ${machine}` }, [{ pool, machine }]);
  if (isCalledOff()) return;
  // Only after the deletion began: a Ready machine without a boot would count as one that passed its gates.
  delete machines.booting[machine];
  if (!isLast && !isOfEarlier(target, task)) machines.retries = [...machines.retries, attempt];
}

function isOfEarlier({ desired }: Readonly<Target>, { templateHash }: Task): boolean {
  return templateHash !== desired?.templateHash;
}

// The failure says nothing about the current desired state; as an old machine, this one is replaced in its turn.
function dropEarlier({ machines, view }: Part<"machines" | "view">, machine: string): void {
  delete machines.booting[machine];
  warn(
    view,
    "MachineDropped",
    `Machine "${machine}" of an earlier change failed to join; its replacement waits for its turn`,
  );
}

// Keeps the last machine that may fail, so that a person can inspect it.
function judgeFailed(rollout: Joining, machine: string, message: string): "Tolerated" | "GivenUp" {
  const { target, machines } = rollout;
  if (countFailure(machines, machine) < (target.rules?.maxFailed ?? 1)) return "Tolerated";
  keepFailed(machines, machine);
  giveUp(rollout, { reason: "JoinAttemptsExhausted", message });
  return "GivenUp";
}

// The activity may still answer, but the caller that cancelled the task has begun another step.
function isCalledOff(): boolean {
  return CancellationScope.current().consideredCancelled;
}

function deadlines(
  { settings: { durations }, target: { rules } }: Seen<"settings" | "target">,
  since: number,
): ReturnType<typeof joinDeadlines> {
  const rung = (name: "instance" | "address" | "registered" | "ready"): number => rules?.join[name] ?? durations[name];
  return joinDeadlines(since, {
    instance: rung("instance"),
    address: rung("address"),
    registered: rung("registered"),
    ready: rung("ready"),
  });
}
