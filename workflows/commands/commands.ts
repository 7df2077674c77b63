/** What people may ask of a rollout: when it is refused, and what it changes. Each is safe to ask twice. */
import { isApproved, wasApproved } from "./approval.ts";
import { promoted } from "../machine/gates.ts";
import type { Command } from "./messages.ts";
import { waveTargets } from "../policy/waves.ts";
import { isQuarantined } from "../steps/quarantine.ts";
import { freshWave, tell, warn } from "../state/rollout.ts";
import type { Rollout, Task } from "../state/rollout.ts";
import { callOff } from "../machine/tasks.ts";

export interface Effect {
  /** Its fields, for the list of handlers in the web UI. */
  takes: string;
  /** Why it cannot be done now; undefined when it can. */
  refuse: (rollout: Rollout, command: Command) => string | undefined;
  /** Does it, and says what that leads to. */
  apply: (rollout: Rollout, command: Command) => string;
}

const never = (): undefined => undefined;

const pause: Effect = {
  takes: "{by, reason}",
  refuse: never,
  apply(rollout, command): string {
    const isNew = rollout.memory.paused === null;
    rollout.memory.paused ??= { ...said(command), since: Date.now() };
    if (isNew) tell(rollout, "Paused", `Paused by ${byWhom(command)}`);
    return "No machine is admitted until resume; joins under way, repairs and renewals go on";
  },
};

const resume: Effect = {
  takes: "{by, reason}",
  refuse: never,
  apply(rollout, command): string {
    if (rollout.memory.paused) tell(rollout, "Resumed", `Resumed by ${byWhom(command)}`);
    rollout.memory.paused = null;
    return "Machines are admitted again";
  },
};

const retry: Effect = {
  takes: "{by, reason}",
  // On the way back only machines of the last good revision can be tried again.
  refuse: ({ rollBack, failed }) =>
    rollBack && failed.length === 0
      ? "it goes back to the last good revision; apply the change again after that"
      : undefined,
  apply(rollout, command): string {
    const { memory, desired, rollBack } = rollout;
    const isBack = desired?.specHash === memory.lastGood?.specHash && rollBack === null;
    memory.quarantine = memory.quarantine.filter(({ specHash }) => !isBack && specHash !== desired?.specHash);
    rollout.booting = freshBoots(rollout);
    Object.assign(rollout, { failed: [], failedMachines: 0, retries: [], mishaps: [], skipped: [], setAside: [] });
    // What machines boot with may be what failed: somebody may have taken it away.
    Object.assign(rollout, { abortAsked: null, retriedAt: Date.now(), publication: undefined });
    // A machine that ran out of time gets a fresh start, and a wave whose gates failed is asked again.
    callOff(rollout, ({ kind }) => kind === "join" || kind === "gates");
    tell(rollout, "Retried", `Tried again by ${byWhom(command)}`);
    return "It is tried again now, with fresh attempts";
  },
};

const approve: Effect = {
  takes: "{plan, by, reason}; plan is the hash of the plan that is meant",
  refuse(rollout, { plan }): string | undefined {
    if (wasApproved(rollout, plan)) return undefined;
    if (!rollout.plan) return "no plan waits for approval";
    const { hash } = rollout.plan;
    const which = isApproved(rollout)
      ? `"${rollout.approvedHash}" is approved already`
      : `the plan that waits is "${hash}"`;
    if (plan === undefined) return `field "plan" is missing; ${which}`;
    return plan === hash ? undefined : `plan "${plan}" is stale; ${which}`;
  },
  apply(rollout, command): string {
    const { plan = "" } = command;
    const wave = rollout.wave.index + 1;
    if (!wasApproved(rollout, plan)) {
      Object.assign(rollout, { approvedPlan: rollout.change, approvedHash: plan });
      rollout.wave = { ...rollout.wave, approved: true };
      tell(rollout, "Approved", `Plan ${plan}, wave ${wave}, approved by ${byWhom(command)}`);
    }
    return `Plan ${plan} may begin with wave ${wave}`;
  },
};

const promote: Effect = {
  takes: "{full, by, reason}; with full all that is left becomes one wave",
  refuse(rollout, { full }): string | undefined {
    const isSoaking = rollout.wave.soakUntil !== null || doubtful(rollout).length > 0;
    return isSoaking || (full && rollout.rolled) ? undefined : "nothing soaks and no gate waits for a word";
  },
  apply(rollout, command): string {
    for (const task of doubtful(rollout)) task.doubt = promoted;
    const { wave } = rollout;
    rollout.wave = wave.soakUntil === null ? wave : { ...wave, soakUntil: Date.now() };
    if (command.full) beginLastWave(rollout);
    tell(rollout, "Promoted", `Promoted ${command.full ? "to the end " : ""}by ${byWhom(command)}`);
    return command.full ? "All that is left is one wave now" : "The wave is taken as good";
  },
};

const skip: Effect = {
  takes: "{machine, by, reason}",
  refuse(rollout, { machine }): string | undefined {
    if (machine === undefined) return 'field "machine" is missing';
    const { leaving = [], old = [] } = rollout.snapshot ?? {};
    if (leaving.some(({ id }) => id === machine)) return `machine "${machine}" is already leaving`;
    if (old.some(({ id, marked }) => marked && id === machine)) return `machine "${machine}" is already chosen to go`;
    return rollout.rollBack ? "it goes back to the last good revision, which leaves no machine out" : undefined;
  },
  apply(rollout, { machine = "", ...command }): string {
    if (!rollout.skipped.includes(machine)) {
      rollout.skipped = [...rollout.skipped, machine];
      tell(rollout, "Skipped", `${machine} is left as it is, by ${byWhom(command)}`);
    }
    return `Machine "${machine}" is left as it is until retry`;
  },
};

const abort: Effect = {
  takes: "{by, reason}",
  refuse(rollout): string | undefined {
    const { memory, desired, rollBack } = rollout;
    // One that is being told as converged is over.
    const isRolling = rollout.rolled && rollout.standing.phase !== "Converged";
    const isUnder = isRolling || isQuarantined(rollout) || desired?.specHash !== memory.lastGood?.specHash;
    return isUnder || rollBack ? undefined : "nothing is being rolled out";
  },
  apply(rollout, command): string {
    if (rollout.rollBack) return "It goes back already";
    rollout.abortAsked ??= { ...said(command), since: Date.now() };
    warn(rollout, "AbortRequested", `Abort requested by ${byWhom(command)}`);
    return "Nothing new begins; the pool goes back to the last good revision";
  },
};

/** All of them, by their names on the wire. */
export const commands = { pause, resume, retry, approve, promote, skip, abort };

// Also of those that failed for good: one that is Ready must not be taken for one that passed its gates.
function freshBoots({ booting, failed }: Rollout): Rollout["booting"] {
  const fresh = { since: Date.now(), attempt: 0 };
  const known = Object.entries(booting).map(([machine, { counted: _, ...boot }]) => [machine, { ...boot, ...fresh }]);
  return Object.fromEntries([...known, ...failed.map((machine) => [machine, { ...fresh }])]);
}

function said({ by, reason }: Command): { by: string; reason: string } {
  return { by: by ?? "unknown", reason: reason ?? "" };
}

function byWhom(command: Command): string {
  const { by, reason } = said(command);
  return `${by}${reason ? `: ${reason}` : ""}`;
}

function doubtful({ tasks }: Rollout): Task[] {
  return Object.values(tasks).filter(({ doubt }) => doubt !== "" && doubt !== promoted);
}

function beginLastWave(rollout: Rollout): void {
  const { rules, desired } = rollout;
  if (!rules || !desired) return;
  const { waves, growth } = rules;
  const { replicas } = desired;
  // By the rules that it is counted in, which may be newer than those of the last look.
  rollout.countedBy = { waves, growth, replicas };
  const index = Math.max(0, waveTargets(rules, replicas).length - 1);
  rollout.wave = { ...freshWave(), index, approved: true };
}
