/** Changes the state according to the reports of tasks; no task changes the state itself. */
import { applyUpdate } from "./apply_update.ts";
import { delay } from "./clock.ts";
import { noteStage, nudge } from "./loop.ts";
import { countFailure, keepFailed, noteAskedGates, noteOut, noteRepaired } from "./machines.ts";
import type { Outcome, TaskEvent } from "./outcomes.ts";
import { giveUp } from "./quarantine.ts";
import { recordGone, recordJoin } from "./results.ts";
import { addNews, type Part, type Seen, warn } from "./rollout.ts";
import { reserveSlot } from "./slots.ts";
import type { Task } from "./tasks.ts";

/** The parts of the state that the reports of tasks change. */
export type Applied =
  & Seen<"target">
  & Part<"machines" | "waves" | "tasks" | "slots" | "records" | "memory" | "loop" | "view">;

/** Applies an event or the outcome of a task. */
export function apply(state: Applied, task: Task, event: TaskEvent | Outcome): void {
  const { loop, view } = state;
  switch (event.is) {
    case "Delayed":
      delay(state, task.subject, event.ms);
      task.since += event.ms;
      task.until += event.ms;
      return;
    case "Stepped":
      Object.assign(task, { step: event.step, until: event.until ?? task.until, blockers: [] });
      return noteStage(loop);
    case "Waits":
      if (event.news) addNews(view, event.news);
      return nudge(loop);
    case "Told":
      return addNews(view, event.news);
    case "GatesAsked":
      return noteAskedGates(state, task, event.asked);
    case "SetAside":
      return setAside(state, task);
    case "Unchanged":
      return;
    default:
      return applyReplacement(state, task, event);
  }
}

type Common = "Delayed" | "Stepped" | "Waits" | "Told" | "GatesAsked" | "SetAside" | "Unchanged";

// Applies the reports about new machines, the waves in which they join, and the old machines that they replace.
function applyReplacement(state: Applied, task: Task, event: Exclude<TaskEvent | Outcome, { is: Common }>): void {
  const { machines, view } = state;
  const { subject: machine } = task;
  switch (event.is) {
    case "Admitted":
      machines.repaired = machines.repaired.slice(1);
      return;
    case "NotAdmitted":
      return noteOut(machines, machine);
    case "JoinFailed":
      warn(view, event.reason, event.message);
      if (event.isLast) countFailure(machines, machine);
      return noteOut(machines, machine);
    case "Joined":
      machines.recreated = 0;
      return recordJoin(state, event.joined);
    case "Gone":
      return void delete machines.booting[machine];
    case "Dropped":
      return dropEarlier(state, machine);
    case "FailedForGood":
      if (event.isGone) delete machines.booting[machine];
      else keepFailed(machines, machine);
      return giveUp(state, { reason: "JoinAttemptsExhausted", message: event.message });
    case "Recreated":
      // The record of the boot is removed only now that the deletion has begun: without the record, a Ready machine
      // would count as one that passed its gates.
      delete machines.booting[machine];
      if (event.attempt !== undefined) machines.retries = [...machines.retries, event.attempt];
      if (event.keepsSlot) keepSlot(state);
      return;
    case "WavePassed":
      return passWave(state, task, event.index);
    case "WaveFailed":
      return giveUp(state, { reason: "GateFailed", message: event.message });
    case "Removed":
      return recordGone(state, machine, event.drainedSeconds);
    case "RepairOrdered":
      return repair(state, task);
    case "RepairDropped":
      machines.repaired = machines.repaired.filter((each) => each !== machine);
      return;
    case "Repaired":
      return void delete machines.draining[machine];
    default:
      return applyUpdate(state, task, event);
  }
}

// The machine was held for too long, and another one takes its place and its slot.
function keepSlot({ machines, slots }: Applied): void {
  machines.recreated += 1;
  reserveSlot(slots, Date.now());
}

function setAside({ machines, view }: Applied, { subject, kind }: Task): void {
  // Each machine is added once, because a task can begin again, and plans count the machines that are set aside.
  machines.setAside = [...new Set([...machines.setAside, subject])];
  delete machines.draining[subject]; // a retry restarts the timeout
  const state = kind === "update"
    ? "the machine stays unchanged and in service"
    : "the machine stays cordoned and held, and counts in the budget";
  warn(view, "MachineSetAside", `Failed to drain machine "${subject}" in time; ${state}`);
}

// A machine of an earlier change failed to join. That is not a failure of the present change: the machine is an old
// machine now, and is replaced when its turn comes.
function dropEarlier({ machines, view }: Applied, machine: string): void {
  delete machines.booting[machine];
  warn(
    view,
    "MachineDropped",
    `Machine "${machine}" of an earlier change failed to join; Ostler replaces the machine when its turn comes`,
  );
}

function passWave({ machines, waves }: Applied, task: Task, index: number): void {
  // If `promote` has made all remaining waves one, another wave may be current, and the result does not count for it.
  if (waves.current.index === index) waves.current = { ...waves.current, passed: true };
  // The record of the gates is removed only now, because it may contain a promotion. If this run had ended before, the
  // next run would have found the promotion in the record.
  noteAskedGates({ machines, waves }, task, null);
}

// Records the repair only of a machine of the desired template, because the rollout replaces old machines anyway.
function repair({ machines, target }: Applied, { subject, templateHash }: Task): void {
  const isOwn = templateHash === target.desired?.templateHash && !machines.repaired.includes(subject);
  if (isOwn) noteRepaired(machines, subject);
}
