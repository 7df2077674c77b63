/** Calls the planner, and records the state of the waves. */
import { dropPlan } from "../commands/review_approval.ts";
import type { Boot, Desired, PoolSnapshot, Rules } from "../contracts/mod.ts";
import { withoutTaken } from "../policy/etcd.ts";
import { withLately } from "../policy/in_place.ts";
import { planTurn } from "../policy/plan_turn.ts";
import { withReplaceable } from "../policy/replaced.ts";
import { supplierOf } from "../policy/supplier.ts";
import { type Situation, type Step, type Turn, usualReplacement } from "../policy/turn.ts";
import { isRelisted } from "../policy/waves.ts";
import { isApproved } from "../state/approval.ts";
import { iso } from "../state/loop.ts";
import { isQuarantined } from "../state/quarantine.ts";
import { type Part, type Seen, tell } from "../state/rollout.ts";
import { busyWith, callOff } from "../state/tasks.ts";

/** The result of a read of the pool. */
interface Found {
  desired: Desired;
  rules: Rules;
  pool: PoolSnapshot;
}

/** The groups of the state that the planner reads. */
type Planning = Seen<"settings" | "target" | "people" | "waves" | "machines" | "tasks" | "memory">;

/**
 * Plans the next steps, and records the new state of the waves. `approval` is Dropped if the next wave needs an
 * approval of its own.
 */
export function plan(
  rollout: Planning & Part<"people" | "waves" | "tasks" | "view">,
  found: Found,
): { turn: Turn; approval: "Kept" | "Dropped" } {
  const turn = planOf(rollout, found);
  const before = rollout.waves.current;
  noteWaves(rollout, turn, found);
  return { turn, approval: dropPlan(rollout, before) };
}

/** Returns the steps that can begin now, and the reason why no further step may begin. */
function planOf(rollout: Planning, found: Found): Turn {
  const turn = planTurn(situation(rollout, found));
  const isOff = ({ kind }: Step): boolean =>
    // An earlier change may have to finish before a machine is admitted or stages an image. Failed gates would only
    // fail again, so they wait until a person sends retry.
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
  // The records of booting machines show which machines still boot. The running tasks do not, because a task may have
  // been cancelled in order to restart.
  const isEarlier = ({ templateHash = desired?.templateHash }: Boot): boolean => templateHash !== desired?.templateHash;
  return rules?.onNewChange === "Finish" && Object.values(machines.booting).some(isEarlier);
}

/**
 * Records the state of the waves that a plan has computed, and emits an Event when a wave is completed or begins to
 * soak.
 */
function noteWaves(
  { waves, tasks, view }: Part<"waves" | "tasks" | "view">,
  { wave }: Turn,
  { desired, rules }: Found,
): void {
  const { current, countedBy } = waves;
  if (rules.conflict === null) {
    // The gates were begun for a wave that no longer exists, so their result does not apply to the wave that has its
    // number now.
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
