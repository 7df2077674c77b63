/**
 * The commands of people to a rollout: when each is refused, and what each changes. Every command is safe to repeat.
 */
import { waveTargets } from "../policy/waves.ts";
import { gatesInDoubt, promoted, retryMachines } from "../state/machines.ts";
import { forgetBad } from "../state/memory.ts";
import { type Part, type Seen, tell, warn } from "../state/rollout.ts";
import { isLastGood } from "../state/target.ts";
import { callOff, type Task } from "../state/tasks.ts";
import { freshWave } from "../state/waves.ts";
import { isQuarantined } from "../state/quarantine.ts";
import { isApproved, wasApproved } from "../state/approval.ts";
import type { Command } from "./messages.ts";

/** The state as commands see it: they may read all of it, and change the parts that are named here. */
export type Commanded = Seen & Part<"target" | "people" | "waves" | "machines" | "tasks" | "memory" | "loop" | "view">;

export interface Effect {
  /** The fields of the command, for the description of its handler in the web UI. */
  takes: string;
  /** Returns why the command cannot run now; undefined when the command can run. */
  refuse: (rollout: Seen, command: Command) => string | undefined;
  /** `refuse` of version 0.1.0, whose histories contain its results; absent if both give the same results. */
  refuseOf010?: (rollout: Seen, command: Command) => string | undefined;
  /** Carries out the command and returns the answer for the person who sent it. */
  apply: (rollout: Commanded, command: Command) => string;
}

const never = (): undefined => undefined;

const pause: Effect = {
  takes: "{by, reason}",
  refuse: never,
  apply({ people, view }, command): string {
    const isNew = people.paused === null;
    people.paused ??= { ...said(command), since: Date.now() };
    if (isNew) tell(view, "Paused", `Paused by ${byWhom(command)}`);
    return "Held new machines do not boot until resume, except to replace unhealthy machines that are removed; " +
      "running joins, repairs and renewals of credentials continue";
  },
};

const resume: Effect = {
  takes: "{by, reason}",
  refuse: never,
  apply({ people, view }, command): string {
    if (people.paused) tell(view, "Resumed", `Resumed by ${byWhom(command)}`);
    people.paused = null;
    return "The pause ended: held new machines can boot when the plan permits";
  },
};

const rollingBack = "the pool is rolling back to the last good revision; apply the change again after the rollback";

const retry: Effect = {
  takes: "{by, reason}",
  // During a rollback, only machines and gates of the last good revision can be retried. `target.desired` may be older
  // than the last read, which `change` and `template` describe.
  refuse: ({ memory, target: { change, template } }) =>
    memory.rollback && !isLastGood({ desired: { specHash: change, templateHash: template } }, memory)
      ? rollingBack
      : undefined,
  refuseOf010: ({ memory, machines }) => memory.rollback && machines.failed.length === 0 ? rollingBack : undefined,
  apply({ target, people, waves, machines, memory, tasks, loop, view }, command): string {
    if (isLastGood(target, memory) && !memory.rollback) memory.quarantine = [];
    forgetBad(memory, target.desired?.specHash);
    retryMachines(machines);
    people.skipped = [];
    people.abortAsked = null;
    people.retriedAt = Date.now();
    loop.mishaps = [];
    // The published config may be the cause of the failure, and may have been fixed, so it is published again.
    target.publication = undefined;
    // The join deadlines of joining machines start again, and the gates of a wave are evaluated again.
    callOff(tasks, ({ kind }) => kind === "join" || kind === "gates");
    waves.gates = null;
    tell(view, "Retried", `Retried by ${byWhom(command)}`);
    return "Ostler retries now, with fresh attempts";
  },
};

const approve: Effect = {
  takes: "{plan, by, reason}; plan is the hash of the plan to approve",
  refuse(rollout, { plan }): string | undefined {
    if (wasApproved(rollout, plan)) return undefined;
    const { people } = rollout;
    if (!people.plan) return "no plan is waiting for approval";
    const { hash } = people.plan;
    const which = isApproved(rollout)
      ? `plan "${people.approvedHash}" is already approved`
      : `the plan waiting for approval is "${hash}"`;
    if (plan === undefined) return `field "plan" is missing; ${which}`;
    return plan === hash ? undefined : `plan "${plan}" is stale; ${which}`;
  },
  apply({ people, target, waves, view }, command): string {
    const { plan = "" } = command;
    const wave = waves.current.index + 1;
    if (!wasApproved({ people, target, waves }, plan)) {
      people.approvedPlan = target.template;
      people.approvedHash = plan;
      people.approvedTerms = people.plan?.terms ?? null;
      waves.current = { ...waves.current, approved: true };
      tell(view, "Approved", `Plan ${plan}, wave ${wave}, was approved by ${byWhom(command)}`);
    }
    return `Plan ${plan} can begin with wave ${wave}`;
  },
};

const promote: Effect = {
  takes: "{full, by, reason}; with full, all remaining waves become one",
  refuse({ waves, machines, tasks, people }, { full }): string | undefined {
    const doubts = [
      ...doubtful(tasks),
      ...gatesInDoubt({ machines, waves }),
      ...untaken({ machines, tasks, people }),
    ];
    const isSoaking = waves.current.soakUntil !== null || doubts.length > 0;
    return isSoaking || (full && waves.rolled)
      ? undefined
      : "no wave is soaking, and no gate or etcd check is inconclusive";
  },
  apply({ target, waves, machines, tasks, people, view }, command): string {
    const doubts = untaken({ machines, tasks, people });
    if (doubts.length > 0) {
      people.takenDoubts = [...people.takenDoubts, ...doubts];
      warn(
        view,
        "DoubtsTaken",
        `Continuing despite inconclusive etcd checks (${doubts.join("; ")}), as requested by ${byWhom(command)}`,
      );
    }
    for (const each of [...doubtful(tasks), ...gatesInDoubt({ machines, waves })]) each.doubt = promoted;
    const { current } = waves;
    waves.current = current.soakUntil === null ? current : { ...current, soakUntil: Date.now() };
    if (command.full) beginLastWave({ waves, target });
    tell(view, "Promoted", `Promoted ${command.full ? "to the last wave " : ""}by ${byWhom(command)}`);
    if (doubts.length > 0) return `Ostler continues despite inconclusive etcd checks: ${doubts.join("; ")}`;
    return command.full
      ? "All remaining waves are one wave now"
      : "The soak of the current wave ends now, and inconclusive gates count as passed";
  },
};

/** Maximum number of skipped machines, which is how many the Rollout object stores for the next run. */
const skippedAtMost = 500;

const skip: Effect = {
  takes: "{machine, by, reason}",
  refuse: (rollout, command) => refuseSkip(rollout, command) ?? refuseBusy(rollout, command),
  refuseOf010: refuseSkip,
  apply({ people, view }, { machine = "", ...command }): string {
    if (!people.skipped.includes(machine)) {
      people.skipped = [...people.skipped, machine];
      tell(view, "Skipped", `Machine "${machine}" was skipped by ${byWhom(command)}`);
    }
    return `Machine "${machine}" is skipped until retry`;
  },
};

function refuseSkip({ machines, memory, people: { skipped } }: Seen, { machine }: Command): string | undefined {
  if (machine === undefined) return 'field "machine" is missing';
  if (skipped.length >= skippedAtMost && !skipped.includes(machine)) {
    return `${skipped.length} machines are skipped already, which is the limit; pause the rollout instead`;
  }
  const { leaving = [], old = [] } = machines.snapshot ?? {};
  if (leaving.some(({ id }) => id === machine)) return `machine "${machine}" is already being removed`;
  if (old.some(({ id, marked }) => marked && id === machine)) {
    return `machine "${machine}" is already marked for removal`;
  }
  return memory.rollback
    ? "the pool is rolling back to the last good revision, and a rollback skips no machine"
    : undefined;
}

// Refuses a machine that the run has begun to replace, which the snapshot does not show if it is older than that.
function refuseBusy({ machines, tasks: { running } }: Seen, { machine = "" }: Command): string | undefined {
  const all = Object.values(running);
  if (machine in machines.draining) return `machine "${machine}" is already being removed`;
  if (all.some(({ victim }) => victim === machine)) return `machine "${machine}" is already marked for removal`;
  return all.some(({ kind, subject }) => kind === "update" && subject === machine)
    ? `machine "${machine}" is already being updated`
    : undefined;
}

const abort: Effect = {
  takes: "{by, reason}",
  refuse(rollout): string | undefined {
    const { memory, target, waves, view } = rollout;
    // A rollout that is being reported as converged is over.
    const isRolling = waves.rolled && view.standing.phase !== "Converged";
    const isUnder = isRolling || isQuarantined(rollout) || !isLastGood(target, memory);
    return isUnder || memory.rollback ? undefined : "no rollout is in progress";
  },
  apply({ people, memory, view }, command): string {
    if (memory.rollback) return "The pool is already rolling back";
    people.abortAsked ??= { ...said(command), since: Date.now() };
    warn(view, "AbortRequested", `Abort requested by ${byWhom(command)}`);
    return "Ostler begins nothing new, and rolls the pool back to the last good revision; without another revision " +
      "to roll back to, it ends the rollout and keeps the machines as they are";
  },
};

/** All commands, by their registered names. */
export const commands = { pause, resume, retry, approve, promote, skip, abort };

function said({ by, reason }: Command): { by: string; reason: string } {
  return { by: by ?? "unknown", reason: reason ?? "" };
}

function byWhom(command: Command): string {
  const { by, reason } = said(command);
  return `${by}${reason ? `: ${reason}` : ""}`;
}

function doubtful({ running }: Seen["tasks"]): Task[] {
  return Object.values(running).filter(({ doubt }) => doubt !== "" && doubt !== promoted);
}

/** Returns the etcd checks that block the removal of a control plane, without those that a person has accepted. */
function untaken(
  { machines: { snapshot }, tasks: { running }, people }: Seen<"machines" | "tasks" | "people">,
): string[] {
  const seen = snapshot?.etcd?.doubts.map(({ says }) => says) ?? [];
  const asked = Object.values(running).flatMap(({ etcdDoubts = [] }) => etcdDoubts);
  return [...new Set([...seen, ...asked])].filter((says) => !people.takenDoubts.includes(says));
}

function beginLastWave({ waves, target: { rules, desired } }: Part<"waves"> & Seen<"target">): void {
  if (!rules || !desired) return;
  const { replicas } = desired;
  // The new index counts the waves of the current rules; the previous index may have counted the waves of older rules.
  waves.countedBy = { waves: rules.waves, growth: rules.growth, replicas };
  const index = Math.max(0, waveTargets(rules, replicas).length - 1);
  waves.current = { ...freshWave(), index, approved: true };
}

// Validates the fields of a command, as people and scripts write them.

const texts = ["by", "reason", "plan", "machine"];
const flags = ["full"];

/** Returns what is wrong with a command, naming the field; undefined for a valid command. */
export function wrongField(command: unknown): string | undefined {
  if (command === undefined || command === null) return undefined;
  const needed = 'expected an object such as {"by": "ada", "reason": "incident 12"}';
  if (typeof command !== "object" || Array.isArray(command)) return `the command is not an object; ${needed}`;
  for (const [field, value] of Object.entries(command)) {
    const isText = texts.includes(field);
    if (!isText && !flags.includes(field)) {
      return `field "${field}" is unknown; known fields are ${[...texts, ...flags].join(", ")}`;
    }
    if (isText && typeof value !== "string") return `field "${field}" is not a string`;
    if (!isText && typeof value !== "boolean") return `field "${field}" is not a boolean`;
  }
  return undefined;
}
