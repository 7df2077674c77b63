/** The state of one run, as plain JSON, and the small steps that change it. */
import type {
  Blocker,
  CarriedState,
  Desired,
  HistoryEntry,
  Joined,
  Phase,
  PoolRef,
  PoolSnapshot,
  Publication,
  Rendering,
  ReplacementRecord,
  RolloutPlan,
  Rules,
  Underway,
} from "../contracts/mod.ts";
import type { Durations, ParsedInput } from "./input.ts";
import type { Blocked } from "../policy/turn.ts";

/** What people see about now; `until` is the absolute deadline of what is waited for. */
export interface Standing {
  phase: Phase;
  reason: string;
  message: string;
  since: number;
  until?: number;
}

/** Something under way for one machine, or the gates of a wave; times in epoch ms. */
export interface Task {
  kind: "join" | "leave" | "repair" | "gates";
  /** The machine, or "wave 1". */
  subject: string;
  node?: string;
  /** The machine that was chosen to go for it. */
  victim?: string;
  templateHash: string;
  step: Underway["step"];
  since: number;
  until: number;
  attempt: number;
  blockers: Blocker[];
  /** Gates could not be judged: why, until they can be, or somebody says promote or retry. */
  doubt: string;
}

/** What a task stopped with; the main loop says so and looks again. */
export interface Mishap {
  kind: "halt" | "unreachable";
  reason: string;
  message: string;
}

/** The fields that a continued run takes over are those of `CarriedState`. */
export interface Rollout extends Omit<CarriedState, "schemaVersion"> {
  readonly pool: PoolRef;
  readonly durations: Durations;
  readonly attemptsAllowed: number;
  readonly publishOnly: boolean;
  standing: Standing;
  desired: Desired | undefined;
  rules: Rules | undefined;
  rendering: Rendering | undefined;
  publication: Publication | undefined;
  snapshot: PoolSnapshot | undefined;
  tasks: Record<string, Task>;
  /** What tasks ended about since the machines were last asked for: that look may be older than their end. */
  justEnded: string[];
  mishaps: Mishap[];
  blocked: Blocked | null;
  plan: RolloutPlan | undefined;
  /** What the pool looks like, and since when it does (epoch ms). */
  settling: { fingerprint: string; since: number };
  /** When somebody last said that the world changed (epoch ms). */
  stirredAt: number;
  /** Somebody said that the world changed, a task ended, or somebody asked for something. */
  nudged: boolean;
  /** Somebody asked for something that the Rollout object does not say yet. */
  heard: boolean;
  /** How often in a row the shared budget was full. */
  slotTries: number;
  /** What was last written to the Rollout object. */
  shown: string;
  /** What earlier runs left was read. */
  recalled: boolean;
  /** What is desired was seen in this run: from now on what people ask for can be judged. */
  known: boolean;
  /** What was made for the pool has been removed. */
  cleanedUp: boolean;
  /** A broken promise of our own code, to be thrown by the main loop. */
  bug: unknown;
  /** Events to be written with the next report. */
  news: { type: "Normal" | "Warning"; reason: string; message: string }[];
}

/** Records kept for the query and the result; older ones are in the history of the run. */
const recordsKept = 100;
const samplesKept = 20;

/** Events that wait for a report: in an outage they must not grow for ever. */
const newsKept = 50;

/** Opens a run, or goes on where the run before it in the chain stopped. */
export function openRollout(input: ParsedInput): Rollout {
  const { pool, durations, attempts, publishOnly, carried } = input;
  const { schemaVersion: _, ...state } = carried ?? freshState(Date.now());
  return {
    ...state,
    ...{ pool, durations, publishOnly, attemptsAllowed: attempts, recalled: carried !== undefined },
    standing: { phase: "Preparing", reason: "Starting", message: "Reading what is desired", since: Date.now() },
    ...{ desired: undefined, rules: undefined, rendering: undefined, publication: undefined, snapshot: undefined },
    ...{ tasks: {}, justEnded: [], mishaps: [], blocked: null, plan: undefined, known: false },
    ...{ settling: { fingerprint: "", since: Date.now() }, stirredAt: Date.now() },
    ...{ slotTries: 0, nudged: false, heard: false, shown: "", cleanedUp: false, news: [], bug: undefined },
  };
}

/** A wave that nobody has begun. */
export function freshWave(): CarriedState["wave"] {
  return { index: 0, soakUntil: null, passed: false, approved: false };
}

function freshState(now: number): CarriedState {
  return {
    schemaVersion: 2,
    memory: { paused: null, quarantine: [], lastGood: null, usual: { join: [], leave: [] } },
    ...{ startedAt: now, startedFor: "", change: "", begun: null, failedMachines: 0, retries: [] },
    ...{ booting: {}, dropped: {}, draining: {} },
    ...{ setAside: [], skipped: [], wave: freshWave(), countedBy: null, rolled: false },
    ...{ approvedPlan: "", approvedHash: "", rollBack: null },
    ...{ abortAsked: null, slots: [], repaired: [], failed: [], retriedAt: 0 },
    ...{ joins: [], replacements: [], replaced: 0 },
  };
}

/** What the next run of the chain needs to go on. */
export function carriedState(rollout: Rollout): CarriedState {
  const { memory, startedAt, startedFor, change, begun, failedMachines, retries } = rollout;
  const { booting, dropped, draining, setAside, skipped, repaired, failed, slots } = rollout;
  const { wave, countedBy, rolled, approvedPlan, rollBack, abortAsked, retriedAt } = rollout;
  const { approvedHash, joins, replacements, replaced } = rollout;
  return {
    schemaVersion: 2,
    ...{ memory, startedAt, startedFor, change, begun, failedMachines, retries },
    ...{ booting, dropped, draining, setAside, skipped, repaired, failed, slots },
    ...{ wave, countedBy, rolled, approvedPlan, approvedHash, rollBack, abortAsked, retriedAt },
    ...{ joins, replacements, replaced },
  };
}

/** Starts the counters afresh for another spec; on the way back those of the spec that is left are kept. */
export function beginChange(rollout: Rollout, specHash: string): void {
  const isFirst = rollout.change === "";
  rollout.change = specHash;
  if (!rollout.rollBack) Object.assign(rollout, { failedMachines: 0, skipped: [], setAside: [] });
  if (!rollout.rollBack && !isFirst) rollout.startedAt = Date.now();
  Object.assign(rollout, { retries: [], failed: [], repaired: [], mishaps: [], wave: freshWave() });
  // Also of a spec that was desired before: its plan is another by now.
  Object.assign(rollout, { rolled: false, plan: undefined, approvedPlan: "", approvedHash: "" });
  rollout.settling = { fingerprint: "", since: Date.now() };
}

/** Notes that a machine joined and passed its gates, and forgets when it began to boot. */
export function recordJoin(rollout: Rollout, { readyAt, ...join }: Joined): void {
  const started = rollout.booting[join.machine]?.since ?? readyAt;
  delete rollout.booting[join.machine];
  const joinedSeconds = Math.max(0, Math.round((readyAt - started) / 100) / 10);
  rollout.joins = [...rollout.joins, { ...join, joinedSeconds }].slice(-recordsKept);
  const { usual } = rollout.memory;
  usual.join = [...usual.join, joinedSeconds].slice(-samplesKept);
}

/** Notes that a machine went, how long its pods took, and how long all of it. */
export function recordReplacement(rollout: Rollout, replacement: ReplacementRecord, seconds: number): void {
  rollout.replaced += 1;
  rollout.replacements = [...rollout.replacements, replacement].slice(-recordsKept);
  const { usual } = rollout.memory;
  usual.leave = [...usual.leave, seconds].slice(-samplesKept);
}

/** Says something that deserves an Event, with the next report. */
export function tell(rollout: Rollout, reason: string, message: string): void {
  rollout.news = [...rollout.news, { type: "Normal" as const, reason, message }].slice(-newsKept);
}

/** Says something that somebody should look at, with the next report. */
export function warn(rollout: Rollout, reason: string, message: string): void {
  rollout.news = [...rollout.news, { type: "Warning" as const, reason, message }].slice(-newsKept);
}

/** The line of the history for a rollout that ends now. */
export function historyEntry(rollout: Rollout, outcome: HistoryEntry["outcome"]): HistoryEntry {
  const { desired, rollBack, rendering, startedAt } = rollout;
  const { revision = "", image = "", kubelet = "" } = rollBack?.bad ?? desired ?? {};
  return {
    ...{ revision, image, kubelet, outcome, configDigest: rendering?.configDigest ?? "" },
    ...{ startedAt: iso(startedAt), endedAt: iso(Date.now()), seconds: Math.round((Date.now() - startedAt) / 1000) },
    ...{ machines: rollout.joins.length, failed: rollout.failedMachines },
    ...{ actor: rollBack?.by ?? desired?.actor ?? "unknown", reason: rollBack?.reason ?? "" },
  };
}

/** Epoch milliseconds as RFC 3339. */
export function iso(epochMs: number): string {
  return new Date(epochMs).toISOString();
}
