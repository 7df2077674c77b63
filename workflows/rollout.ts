/** The state of one run, as plain JSON, and the small steps that change it. */
import type {
  CarriedState,
  Desired,
  Joined,
  JoinRecord,
  Phase,
  PoolRef,
  PoolSnapshot,
  Progress,
  Publication,
  Rendering,
  ReplacementRecord,
} from "./contracts.ts";
import type { Durations, ParsedInput } from "./input.ts";

/** What people see about now; `until` is the absolute deadline of what is waited for. */
export interface Standing {
  phase: Phase;
  reason: string;
  message: string;
  since: number;
  until?: number;
}

export interface Underway {
  machine: string;
  victim?: string;
  node?: string;
  step: string;
  since: number;
  until: number;
}

export interface Rollout {
  readonly pool: PoolRef;
  readonly durations: Durations;
  readonly attemptsAllowed: number;
  readonly publishOnly: boolean;
  /** What was desired at the first look. */
  startedFor: string | undefined;
  readonly startedAt: number;
  standing: Standing;
  desired: Desired | undefined;
  rendering: Rendering | undefined;
  publication: Publication | undefined;
  counts: PoolSnapshot["counts"] | undefined;
  underway: Underway | undefined;
  /** Somebody said that the world changed, or asked to try again. */
  nudged: boolean;
  paused: CarriedState["paused"];
  /** Whether the Rollout object says so already. */
  shownPaused: boolean;
  attempts: CarriedState["attempts"];
  failedMachines: number;
  booting: Record<string, number>;
  joins: JoinRecord[];
  replacements: ReplacementRecord[];
  replaced: number;
  /** What was made for the pool has been removed. */
  cleanedUp: boolean;
}

/** Records kept for the query and the result; older ones are in the history of the run. */
const recordsKept = 100;

/** Opens a run, or goes on where the run before it in the chain stopped. */
export function openRollout(input: ParsedInput): Rollout {
  const now = Date.now();
  const carried = input.carried;
  return {
    pool: input.pool,
    durations: input.durations,
    attemptsAllowed: input.attempts,
    publishOnly: input.publishOnly,
    startedFor: undefined,
    startedAt: carried?.startedAt ?? now,
    standing: { phase: "Preparing", reason: "Starting", message: "Reading what is desired", since: now },
    desired: undefined,
    rendering: undefined,
    publication: undefined,
    counts: undefined,
    underway: undefined,
    nudged: false,
    paused: carried?.paused ?? null,
    shownPaused: false,
    attempts: carried?.attempts ?? { change: "", used: 0 },
    failedMachines: carried?.failedMachines ?? 0,
    booting: carried?.booting ?? {},
    joins: carried?.joins ?? [],
    replacements: carried?.replacements ?? [],
    replaced: carried?.replaced ?? 0,
    cleanedUp: false,
  };
}

/** What the next run of the chain needs to go on. */
export function carriedState(rollout: Rollout): CarriedState {
  const { startedAt, failedMachines, attempts, paused, booting, joins, replacements, replaced } = rollout;
  return { schemaVersion: 1, startedAt, failedMachines, attempts, paused, booting, joins, replacements, replaced };
}

/** Notes that a machine joined, and forgets when it began to boot. */
export function recordJoin(rollout: Rollout, { readyAt, ...join }: Joined): void {
  const started = rollout.booting[join.machine] ?? readyAt;
  delete rollout.booting[join.machine];
  const joinedSeconds = Math.max(0, Math.round((readyAt - started) / 100) / 10);
  rollout.joins = [...rollout.joins, { ...join, joinedSeconds }].slice(-recordsKept);
}

/** Notes that a machine went and which one stands in its place. */
export function recordReplacement(rollout: Rollout, replacement: ReplacementRecord): void {
  rollout.replaced += 1;
  rollout.replacements = [...rollout.replacements, replacement].slice(-recordsKept);
}

/** Answers the query `progress`. */
export function describe(rollout: Rollout): Progress {
  const { standing, desired, rendering, counts, underway } = rollout;
  return {
    phase: standing.phase,
    reason: standing.reason,
    message: standing.message,
    since: iso(standing.since),
    ...(standing.until === undefined ? {} : { until: iso(standing.until) }),
    paused: rollout.paused !== null,
    ...(desired && rendering ? { target: { ...pick(desired), configDigest: rendering.configDigest } } : {}),
    ...(desired && counts ? { counts: { desired: desired.replicas, ...publicCounts(counts) } } : {}),
    ...(underway ? { replacement: { ...underway, since: iso(underway.since), until: iso(underway.until) } } : {}),
    joins: rollout.joins,
    replacements: rollout.replacements,
  };
}

/** Epoch milliseconds as RFC 3339. */
export function iso(epochMs: number): string {
  return new Date(epochMs).toISOString();
}

function pick(desired: Desired): { generation: number; revision: string; image: string; kubelet: string } {
  const { generation, revision, image, kubelet } = desired;
  return { generation, revision, image, kubelet };
}

function publicCounts(counts: PoolSnapshot["counts"]): Omit<NonNullable<Progress["counts"]>, "desired"> {
  const { machines, updated, ready, old, leaving } = counts;
  return { machines, updated, ready, old, leaving };
}
