/** Asks the planner what may begin now, and notes where the waves stand. */
import { isApproved } from "../commands/approval.ts";
import type { Boot, Desired, PoolSnapshot, Rules } from "../contracts/mod.ts";
import { callOff } from "../machine/tasks.ts";
import { withoutTaken } from "../policy/etcd.ts";
import { withLately } from "../policy/in_place.ts";
import { planTurn } from "../policy/plan_turn.ts";
import { withReplaceable } from "../policy/replaced.ts";
import { supplierOf } from "../policy/supplier/supplier_of.ts";
import type { Situation, Step, Turn } from "../policy/turn.ts";
import { usualReplacement } from "../policy/usual.ts";
import { isRelisted } from "../policy/waves.ts";
import { iso } from "../state/rfc3339.ts";
import type { Part, Seen } from "../state/rollout.ts";
import { busyWith } from "../state/tasks.ts";
import { tell } from "../state/view.ts";
import { isQuarantined } from "./quarantine.ts";

/** What a look at the pool found. */
export interface Found {
  desired: Desired;
  rules: Rules;
  pool: PoolSnapshot;
}

/** What the planner is asked with. */
type Planning = Seen<"settings" | "target" | "people" | "waves" | "machines" | "tasks" | "memory">;

/** What a person took upon himself counts as long as it is told: the same an hour later is in doubt anew. */
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

/** Everything that may begin now, and what holds the rest up. */
export function planOf(rollout: Planning, found: Found): Turn {
  const turn = planTurn(situation(rollout, found));
  const isOff = ({ kind }: Step): boolean =>
    // Gates that failed say the same again until a person says retry.
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

/** Machines of an earlier change are still under way, and the policy wants them finished first. */
function isFinishingEarlier({ machines, target: { desired, rules } }: Seen<"machines" | "target">): boolean {
  // Not by what is under way: that may have been called off to be begun again.
  const isEarlier = ({ templateHash = desired?.templateHash }: Boot): boolean => templateHash !== desired?.templateHash;
  return rules?.onNewChange === "Finish" && Object.values(machines.booting).some(isEarlier);
}

/** Takes over where the waves stand after a plan, and tells what is news about that. */
export function noteWaves(
  { waves, tasks, view }: Part<"waves" | "tasks" | "view">,
  { wave }: Turn,
  { desired, rules }: Found,
): void {
  const { current, countedBy } = waves;
  if (rules.conflict === null) {
    // What is asked about a wave that is no more says nothing about the one that has its number now.
    const isOther = wave.index < current.index || (countedBy && isRelisted(countedBy, rules));
    if (isOther) {
      callOff(tasks, ({ kind }) => kind === "gates");
      waves.gates = null;
    }
    waves.countedBy = { waves: rules.waves, growth: rules.growth, replicas: desired.replicas };
  }
  if (wave.index > current.index) tell(view, "WaveCompleted", `Wave ${current.index + 1} is done`);
  if (wave.soakUntil !== null && current.soakUntil === null && wave.soakUntil > Date.now()) {
    tell(view, "SoakStarted", `Wave ${wave.index + 1} soaks until ${iso(wave.soakUntil)}`);
  }
  waves.current = wave;
}
