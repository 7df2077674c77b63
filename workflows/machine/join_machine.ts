/**
 * Waits until one machine joins within its deadlines and passes its gates; a machine that does not is recreated, up to
 * a limit.
 */
import { CancellationScope, patched } from "@temporalio/workflow";
import type { AdmissionOutcome, Joined, JoinFailure, JoinVerdict, Unseen } from "../contracts/mod.ts";
import { patches } from "../patches.ts";
import { joinDeadlines } from "../policy/waves.ts";
import { awaits, read, write } from "../proxies.ts";
import { startClock } from "../state/clock.ts";
import { ensureBoot } from "../state/machines.ts";
import type { JoinOutcome } from "../state/outcomes.ts";
import type { Seen } from "../state/rollout.ts";
import type { Task } from "../state/tasks.ts";
import { troubleOf } from "../state/trouble.ts";
import { passGates } from "./gates.ts";
import { giveBackOutage, giveBackTime, type Job, type Work, type Worked } from "./work.ts";

/**
 * Prepares a task that waits until a machine joins. Unless the machine already boots (`isIn`), the task admits it
 * first; if `victim` is set, the task also marks `victim` as the machine to be replaced.
 */
export function prepareJoin(
  { settings, target, ...timed }: Worked,
  { machine, attempt, victim, isIn }: { machine: string; attempt: number; victim?: string; isIn: boolean },
): Job {
  startClock(timed, machine);
  const { templateHash: desired = "", kubelet = "", replicas = 0 } = target.desired ?? {};
  // A resumed join keeps the template its machine was admitted for.
  const boot = ensureBoot(timed.machines, machine, {
    ...{ since: Date.now(), attempt, templateHash: desired, kubelet, replicas },
  });
  const task: Task = {
    kind: "join",
    subject: machine,
    ...(victim ? { victim } : {}),
    templateHash: boot.templateHash ?? desired,
    step: "Joining",
    since: boot.since,
    until: deadlines({ settings, target }, boot.since).ready,
    attempt: boot.attempt,
    blockers: [],
    doubt: "",
  };
  return { task, run: (work) => victim ? join(work, { isIn: false }) : enter(work, { isIn }) };
}

/** Waits until a machine that replaces no other machine joins; admits it first unless it already boots (`isIn`). */
async function enter(work: Work, { isIn }: { isIn: boolean }): Promise<JoinOutcome> {
  const begun = Date.now();
  let admitted: AdmissionOutcome;
  try {
    admitted = await (isIn ? Promise.resolve(undefined) : admit(work));
    giveBackTime(work, { begun });
  } catch (error) {
    giveBackTime(work, { begun, error });
    noteNotAdmitted(work, error);
    throw error;
  }
  return admitted === "Recreated" ? replaceHeld(work) : await join(work, { isIn: true });
}

function noteNotAdmitted({ note }: Work, error: unknown): void {
  if (troubleOf(error).kind === "replan") note({ is: "NotAdmitted" });
}

async function admit(work: Work): Promise<AdmissionOutcome> {
  const { settings: { pool }, task: { subject: machine }, note } = work;
  const summary = `Admit ${machine}`;
  const order = { pool, machine, ...anyAgeOf(work) };
  const outcome = await write.ensureMachineAdmitted.executeWithOptions({ summary }, [order]);
  if (outcome !== "Recreated") note({ is: "Admitted" });
  return outcome;
}

/** Recreated machines in a row, beyond the number of held ones, after which a machine is admitted at any age. */
const recreatedInVain = 3;

// Without this limit, machines would be recreated for ever where each one is too old, such as with a wrong clock.
function anyAgeOf({ machines: { recreated, snapshot } }: Work): { anyAge?: true } {
  return recreated < (snapshot?.counts.held ?? 0) + recreatedInVain ? {} : { anyAge: true };
}

async function join(work: Work, { isIn }: { isIn: boolean }): Promise<JoinOutcome> {
  const verdict = await awaitJoin(work, isIn);
  if (!verdict) return { is: "Gone" };
  const [joined, failure] = [verdict.joined[0], verdict.failed[0]];
  if (joined) return await prove(work, joined);
  if (failure) return await recreate(work, failure);
  if (verdict.isRecreated) return replaceHeld(work);
  return await countDeletion(work, verdict.lastSeen?.[0]);
}

/** Reports that the held machine was recreated in place of its admission; the next one continues with its slot. */
function replaceHeld(work: Work): JoinOutcome {
  const { machines, task: { subject: machine }, note } = work;
  const message = `Recreating machine "${machine}", which was held for more than half of join-cluster-timeout`;
  note({ is: "Told", news: { type: "Normal", reason: "HeldMachineRecreated", message } });
  if (isOfEarlier(work)) return { is: "Recreated" };
  return { is: "Recreated", attempt: machines.booting[machine]?.attempt ?? 0, keepsSlot: true };
}

/**
 * Counts the deletion of a machine that had not joined as a failed attempt: another controller may delete every machine
 * that does not join in time, and the attempts would have no end. A deletion by a scale-down, by another change or with
 * the pool does not count.
 */
async function countDeletion(work: Work, lastSeen: JoinFailure | undefined): Promise<JoinOutcome> {
  const { settings: { pool }, machines, task: { subject: machine, templateHash } } = work;
  const { isOut, replicas = 0 } = machines.booting[machine] ?? {};
  if (isOut || !patched(patches.deletedJoins)) return { is: "Gone" };
  const seen = await read.readDesired.executeWithOptions({ summary: "Read the desired state" }, [{ pool }]);
  const desired = seen.state === "Present" ? seen.desired : undefined;
  if (desired?.templateHash !== templateHash || desired.replicas < replicas || isOfEarlier(work)) return { is: "Gone" };
  const before = lastSeen ? `it passed join stage "${lastSeen.rung}": ${lastSeen.evidence}` : "it joined";
  const outcome = noteFailed(work, "DeletedBeforeJoin", `Machine "${machine}" was deleted before ${before}`);
  return outcome.is === "FailedForGood" ? { ...outcome, isGone: true } : outcome;
}

/**
 * Returns whether the machine joined, with deadlines that do not count outages of the API; undefined if the task was
 * cancelled.
 */
async function awaitJoin(work: Work, isIn: boolean): Promise<JoinVerdict | undefined> {
  for (let isNext = isIn; !isCalledOff(); isNext = true) {
    const verdict = await (isNext ? askJoined(work) : enterAndJoin(work));
    if (!("unseenMs" in verdict)) return verdict;
    work.note({ is: "Delayed", ms: verdict.unseenMs });
  }
  return undefined;
}

function askJoined(work: Work): Promise<JoinVerdict | Unseen> {
  const { settings: { pool }, machines, task: { subject: machine, since } } = work;
  const { kubelet = "" } = machines.booting[machine] ?? {};
  return awaits.awaitMachinesJoined.executeWithOptions({ summary: `Wait for ${machine} to join` }, [
    { pool, kubelet, machines: [{ machine, deadlines: deadlines(work, since) }] },
  ]);
}

/**
 * Marks the machine to be replaced, admits the new one, and waits until it joins: in one activity, so that the history
 * has one entry.
 */
async function enterAndJoin(work: Work): Promise<JoinVerdict | Unseen> {
  const { settings: { pool }, machines, task: { subject: machine, victim = "", since } } = work;
  const { kubelet = "" } = machines.booting[machine] ?? {};
  const begun = Date.now();
  const summary = `Admit ${machine} to replace ${victim}, and wait for it to join`;
  try {
    return await awaits.awaitReplacementJoined.executeWithOptions({ summary }, [
      { pool, kubelet, victim, machine, ...anyAgeOf(work), deadlines: deadlines(work, since) },
    ]);
  } catch (error) {
    giveBackOutage(work, { begun, error });
    noteNotAdmitted(work, error);
    throw error;
  }
}

async function prove(work: Work, joined: Joined): Promise<JoinOutcome> {
  const { machine, node } = joined;
  Object.assign(work.task, { step: "Gates", node });
  const key = `${work.task.templateHash} ${machine}`;
  const failed = await passGates(work, { run: "EachMachine", key, machine, node });
  if (failed) return await recreate(work, { machine, rung: "gates", evidence: failed });
  return { is: "Joined", joined };
}

async function recreate(work: Work, { machine, rung, evidence }: JoinFailure): Promise<JoinOutcome> {
  if (isOfEarlier(work)) return { is: "Dropped" };
  const message = `Machine "${machine}" did not pass join stage "${rung}": ${evidence}`;
  const outcome = noteFailed(work, "JoinDeadlineExceeded", message);
  // Once the number of failed machines reaches `maxFailed`, the failed machine is kept, so that a person can inspect
  // it.
  if (outcome.is === "FailedForGood") return outcome;
  const { pool } = work.settings;
  await write.deleteMachine.executeWithOptions({ summary: `Recreate ${machine}` }, [{ pool, machine }]);
  return isOfEarlier(work) ? { is: "Recreated" } : outcome;
}

/** Reports a failed attempt to join, and returns its outcome: another attempt, a counted failure, or the last one. */
function noteFailed(
  { settings, target, machines, task, note }: Work,
  reason: "JoinDeadlineExceeded" | "DeletedBeforeJoin",
  message: string,
): JoinOutcome {
  const attempt = (machines.booting[task.subject]?.attempt ?? 0) + 1;
  const allowed = target.rules?.join.attempts ?? settings.attempts;
  const isLast = attempt > allowed;
  const next = isLast ? "no attempts left" : `recreating the machine, attempt ${attempt} of ${allowed}`;
  note({ is: "JoinFailed", reason, message: `${message}; ${next}`, isLast });
  if (isLast && machines.failures >= (target.rules?.maxFailed ?? 1)) return { is: "FailedForGood", message };
  return { is: "Recreated", ...(isLast ? {} : { attempt }) };
}

function isOfEarlier({ target: { desired }, task: { templateHash } }: Work): boolean {
  return templateHash !== desired?.templateHash;
}

// Returns whether the task was cancelled: its activity may still return a result, but the caller that cancelled the
// task has begun another step.
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
