/** Describes a run for people: the answer to the query `progress`, and the status as one sentence. */
import { isApproved } from "../state/approval.ts";
import type { Phase, PoolSnapshot, Progress, Rollback, Underway, WaveView } from "../contracts/mod.ts";
import { etaOf } from "../policy/forecast.ts";
import { supplierOf } from "../policy/supplier.ts";
import { iso } from "../state/loop.ts";
import type { Seen, Standing } from "../state/rollout.ts";
import type { Task } from "../state/tasks.ts";
import { blockersText } from "./page/blockers.ts";
import { waveViews } from "./page/wave_views.ts";
import type { Blocked, Turn } from "../policy/turn.ts";

/** Answers the query `progress`. */
export function describe(rollout: Seen): Progress {
  const { target, people, waves, machines, memory, records, view } = rollout;
  const { phase, reason, message, since, until } = view.standing;
  const eta = etaNow(rollout);
  return {
    phase,
    reason,
    message,
    since: iso(since),
    ...(until === undefined ? {} : { until: iso(until) }),
    paused: people.paused !== null,
    ...(people.paused ? { pausedBy: people.paused } : {}),
    policy: target.rules?.source ?? "",
    ...targetPart(rollout),
    waves: wavesNow(rollout),
    wave: waves.current.index + 1,
    ...(eta === null ? {} : { eta: iso(eta) }),
    ...(people.plan ? { plan: { hash: people.plan.hash, approved: isApproved(rollout) } } : {}),
    ...(memory.rollback ? { rollBack: backPart(memory.rollback) } : {}),
    quarantine: memory.quarantine,
    failedMachines: machines.failures,
    ...(machines.snapshot?.etcd ? { etcd: machines.snapshot.etcd } : {}),
    skipped: people.skipped,
    setAside: machines.setAside,
    underway: underway(rollout),
    joins: records.joins,
    replacements: records.replacements,
  };
}

/** Returns the running tasks, the oldest first. */
export function underway(rollout: Seen<"tasks" | "machines" | "target">): Underway[] {
  const tasks = Object.values(rollout.tasks.running).sort((a, b) => a.since - b.since);
  return tasks.map((task) => shown(task, waitsForOf(rollout, task)));
}

/** Returns the condition that a task waits for, in words; "" if it is not known. */
export function waitsForOf(
  { machines: { snapshot }, target: { rules } }: Seen<"machines" | "target">,
  task: Task,
): string {
  const { kind, step, subject, doubt, etcdDoubts = [] } = task;
  if (step === "Joining" || step === "Removing") {
    return snapshot?.lacking?.find(({ machine }) => machine === subject)?.lacks ?? "";
  }
  if (step === "Relieving") return etcdDoubts.join("; ");
  if (step !== "Gates" || doubt !== "") return doubt;
  const run = kind === "gates" ? "EachWave" : "EachMachine";
  const names = (rules?.gates ?? []).flatMap((gate) => gate.run === run ? [`"${gate.name}"`] : []);
  return names.length === 0 ? "" : `gate ${names.slice(0, 3).join(" and ")} to pass`;
}

/**
 * Returns the waves of this rollout, in order; an empty list before the first read, during a rollback, and for a run
 * that has had no old machines to replace.
 */
export function wavesNow(
  { target: { rules, desired }, waves, memory, tasks }: Seen<"target" | "waves" | "memory" | "tasks">,
): WaveView[] {
  if (!rules || !desired || !waves.rolled || memory.rollback) return [];
  const asking = Object.values(tasks.running).some(({ kind }) => kind === "gates");
  return waveViews({ rules, replicas: desired.replicas, wave: waves.current, asking });
}

/** Returns the estimated end of the rollout (epoch ms); null if it cannot be estimated. */
export function etaNow(
  {
    settings,
    target: { rules, desired },
    machines: { snapshot },
    memory: { usual, rollback },
    waves,
    view: { blocked },
  }: Seen<
    "settings" | "target" | "machines" | "memory" | "waves" | "view"
  >,
): number | null {
  if (!rules || !desired || !snapshot || !waves.rolled) return null;
  const supplier = supplierOf(settings.pool.kind);
  const { counts } = snapshot;
  const rollingBack = rollback !== null;
  return etaOf({ now: Date.now(), rules, supplier, desired, counts, usual, wave: waves.current, blocked, rollingBack });
}

function targetPart(
  { target: { desired, rendering }, machines: { snapshot } }: Seen<"target" | "machines">,
): Pick<Progress, "target" | "counts"> {
  if (!desired) return {};
  const { generation, revision, image, kubelet, replicas } = desired;
  const target = rendering && { generation, revision, image, kubelet, configDigest: rendering.configDigest };
  return {
    ...(target ? { target } : {}),
    ...(snapshot ? { counts: { desired: replicas, ...publicCounts(snapshot.counts) } } : {}),
  };
}

function publicCounts(counts: PoolSnapshot["counts"]): Omit<NonNullable<Progress["counts"]>, "desired"> {
  const { machines, updated, updatedReady, ready, old, leaving, ill } = counts;
  return { machines, updated, updatedReady, ready, old, leaving, unhealthy: ill };
}

function backPart({ kind, by, reason, bad }: Rollback): NonNullable<Progress["rollBack"]> {
  return { kind, by, reason, revision: bad.revision };
}

function shown({ subject, node, step, since, until, attempt, blockers }: Task, waitsFor: string): Underway {
  return {
    machine: subject,
    ...(node ? { node } : {}),
    step,
    since: iso(since),
    until: iso(until),
    ...(attempt > 0 ? { attempt } : {}),
    ...(waitsFor === "" ? {} : { waitsFor }),
    ...(blockers.length > 0 ? { blockers } : {}),
  };
}

// The status of a run, as one phase, one reason and one sentence.

/** The parts of the state that determine the status. */
type Told = Seen<"target" | "waves" | "machines" | "tasks" | "memory" | "view">;

/** Reasons with which a run is reported as halted, because a person has to act. */
const halting: Blocked["reason"][] = ["PolicyConflict", "Quarantined", "OnlySkippedRemain", "SetAside"];

/**
 * Returns the status after a plan; if an obstacle needs a person, the status names it rather than the running steps.
 */
export function standingOf(rollout: Told, turn: Turn): Omit<Standing, "since"> {
  const tasks = Object.values(rollout.tasks.running);
  const doubtful = tasks.find(({ doubt }) => doubt !== "");
  if (doubtful) {
    return { phase: "Halted", reason: "GateInconclusive", message: `${doubtful.subject}: ${doubtful.doubt}` };
  }
  const { blocked } = rollout.view;
  if (blocked?.reason === "Quarantined") return { phase: "Halted", ...quarantined(rollout, blocked) };
  if (blocked && halting.includes(blocked.reason)) return { phase: "Halted", ...sentence(blocked) };
  const overdue = tasks.find((task) => task.step === "Draining" && task.blockers.length > 0);
  if (overdue) return { phase: activePhase(rollout), reason: "PodsRemaining", ...drainSentence(overdue) };
  if (tasks.length > 0) return { phase: activePhase(rollout), ...taskSentence(rollout, tasks) };
  if (blocked) return { phase: activePhase(rollout), ...sentence(blocked) };
  const until = turn.lookAgainAt === null ? {} : { until: turn.lookAgainAt };
  return { phase: activePhase(rollout), reason: "Settling", message: `Waiting for ${turn.waitsFor}`, ...until };
}

/** Returns the phase of a run that is not halted and has not ended. */
export function activePhase({ memory, waves, machines }: Seen<"memory" | "waves" | "machines">): Phase {
  if (memory.rollback) return "RollingBack";
  if (waves.rolled) return "Rolling";
  return (machines.snapshot?.counts.ill ?? 0) > 0 ? "Repairing" : "Creating";
}

function sentence({ reason, message, until }: Blocked): Pick<Standing, "reason" | "message" | "until"> {
  return { reason, message, ...(until === null ? {} : { until }) };
}

// Returns the status of a change in quarantine. It names the reason of the failure, which is more useful than the fact
// of the quarantine.
function quarantined(
  { memory, target: { desired }, machines: { failed } }: Seen<"memory" | "target" | "machines">,
  blocked: Blocked,
): Pick<Standing, "reason" | "message"> {
  const bad = memory.quarantine.find(({ specHash }) => specHash === desired?.specHash);
  if (!bad) {
    // The names come before any colon, because the message up to the first colon identifies the notification.
    const message = `Machines ${failed.slice(0, 3).join(", ")} of the last good revision failed to join too; ` +
      'fix the cause that "ostler explain" shows, then run ostler retry';
    return { reason: "JoinAttemptsExhausted", message };
  }
  const since = iso(bad.since).slice(0, 16).replace("T", " ");
  return {
    reason: blocked.reason,
    message: `Revision ${bad.revision} (${bad.image}) is quarantined since ${since} UTC: ${bad.reason}; ` +
      "change the spec, or run ostler retry",
  };
}

function drainSentence({ subject, node, blockers, until }: Task): Pick<Standing, "message" | "until"> {
  const message = `Draining machine "${subject}" on node "${node}": waiting for ${blockersText(blockers)}`;
  return { message, until };
}

function taskSentence(rollout: Told, tasks: Task[]): Pick<Standing, "reason" | "message" | "until"> {
  const [first] = tasks;
  const steps = [...new Set(tasks.map(({ step }) => step))];
  const parts = steps.map((step) => {
    const subjects = tasks.filter((task) => task.step === step).map(({ subject }) => subject);
    return `${step} ${subjects.slice(0, 3).join(", ")}${subjects.length > 3 ? ` and ${subjects.length - 3} more` : ""}`;
  });
  const waiting = tasks.find((task) => task.step !== "Gates" && waitsForOf(rollout, task) !== "");
  const told = waiting ? [...parts, `${waiting.subject} waits: ${waitsForOf(rollout, waiting)}`] : parts;
  return { reason: first?.step ?? "Working", message: told.join("; "), until: Math.min(...tasks.map((t) => t.until)) };
}
