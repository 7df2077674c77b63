/** What continue-as-new hands to the next run of a chain: the lasting part of each group of a run's state. */
import type { LastGood, Quarantined, Request, Rollback } from "./memory.ts";
import type { AskedPlan, JoinRecord, PlanTerms, ReplacementRecord } from "./progress.ts";
import type { PoolRef, WaveCount, WaveState } from "./pool.ts";
import type { Maker } from "./node_update.ts";

/** Of what is desired. */
export interface CarriedTarget {
  /** The spec that everything counted is about. */
  change: string;
  /** When its rollout began (epoch ms). */
  startedAt: number;
  /** What was desired when the run before it ended, as the controller tells it apart; else what it saw first. */
  startedFor: string;
  /** The config that machines of the desired template first booted with. */
  begun: { templateHash: string; configDigest: string } | null;
}

/** A command without an answer that came before anything could be judged: its name, and its fields as they came. */
export interface WaitingCommand {
  name: string;
  fields: Record<string, unknown>;
}

/** Of what people asked for. */
export interface CarriedPeople {
  paused: Request | null;
  /** Somebody asked for it and it has not begun. */
  abortAsked: Request | null;
  /** Machines that a person wants to keep as they are. */
  skipped: string[];
  /** The plan that waits for a word, or was approved; null for none, and where a run of an earlier version had it. */
  plan: AskedPlan | null;
  /** The spec whose plan was approved. */
  approvedPlan: string;
  /** The hash that this plan was approved by. */
  approvedHash: string;
  /** What this approval rests on; null without one, and until the next look where a run of an earlier version had it. */
  approvedTerms: PlanTerms | null;
  /** When somebody last said retry (epoch ms, 0 for never): gates are asked afresh then. */
  retriedAt: number;
  /** What waits for the first look, in its order. */
  waiting: WaitingCommand[];
}

/** Of the waves. */
export interface CarriedWaves {
  current: WaveState;
  /** What `current` counts in; null before the first look. */
  countedBy: WaveCount | null;
  /** Old machines were seen in this rollout: only then it is one. */
  rolled: boolean;
  /** Those that are asked about `current`. */
  gates: AskedGates | null;
}

/** Of single machines. */
export interface CarriedMachines {
  booting: Record<string, Boot>;
  /** Machines of changes that were left before these had passed: they have not, should their change come back. */
  dropped: Record<string, Boot>;
  draining: Record<string, Draining>;
  /** Machines set aside because they could not be drained. */
  setAside: string[];
  /** Machines that were replaced for being unhealthy, and for which no other one has been admitted yet. */
  repaired: string[];
  /** Machines kept to look at: they failed for good. */
  failed: string[];
  /** How many failed for good, those included that are gone. */
  failures: number;
  /** Attempts of places whose machine failed and that wait for their next one. */
  retries: number[];
  /** Machines that are being updated where they stand, from their cordon to the end of it. */
  updating: Record<string, Updating>;
  /** What lately came of single machines, which a look may not have seen yet. */
  lately: Record<string, Lately>;
}

/** What machines joined and which went, for the query and the result. */
export interface CarriedRecords {
  /** The last hundred. */
  joins: JoinRecord[];
  /** The last hundred. */
  replacements: ReplacementRecord[];
  /** All of them. */
  replaced: number;
}

/** Of the budget that all pools share. */
export interface CarriedSlots {
  /** Places that the pool has, by the machine that came for each. */
  held: string[];
}

/** Of what outlives the chain too, on the Rollout object, and the way back that is under way. */
export interface CarriedMemory {
  /** What earlier runs left was read; before that nothing may be written over it. */
  recalled: boolean;
  quarantine: Quarantined[];
  lastGood: LastGood | null;
  /** Seconds that machines lately took to join, and to be drained and removed; the newest last. */
  usual: { join: number[]; leave: number[] };
  /** What was rolled back or aborted last, until another change converges. */
  lastRollback: Rollback | null;
  /** Going back, by policy or by a person who aborted. */
  rollback: Rollback | null;
}

/** Of the main loop. */
export interface CarriedLoop {
  /** How often in a row a run of the chain ended by a fault of our own code. */
  bugs: number;
  /** What the last of them was. */
  bug: string;
}

/** State that outlives continue-as-new, by the groups of `Rollout`. */
export interface CarriedState {
  schemaVersion: 1;
  target: CarriedTarget;
  people: CarriedPeople;
  waves: CarriedWaves;
  machines: CarriedMachines;
  records: CarriedRecords;
  slots: CarriedSlots;
  memory: CarriedMemory;
  loop: CarriedLoop;
}

// Machines that come and go, as a run keeps them in mind.

/** Gates that are asked about a machine or a wave. */
export interface AskedGates {
  /** Changes with the question, and with the gates that it is put to. */
  name: string;
  /** When it was put (epoch ms); null once it was answered, in doubt. */
  since: number | null;
  /** Why they could not be judged; empty for no doubt. */
  doubt: string;
}

/** A machine that comes: when it began to boot (epoch ms), and which attempt of its place it is, from 0. */
export interface Boot {
  since: number;
  attempt: number;
  /** Of the change that it was admitted for; a run of before that was noted carried neither. */
  templateHash?: string;
  kubelet?: string;
  /** It failed for good and is among the failed machines that are counted, though it is not deleted yet. */
  counted?: true;
  /** It is Ready, and they have not answered. */
  gates?: AskedGates;
}

/** A machine that is drained or removed: what it was, and when that began (epoch ms). */
export interface Draining {
  since: number;
  templateHash: string;
  image: string;
  kubelet: string;
}

/** A machine that is updated where it stands; times in epoch ms. */
export interface Updating {
  since: number;
  /** What it is brought to. */
  templateHash: string;
  image: string;
  /** When its drain began. */
  drainSince?: number;
  /** Its boot is being ordered: nobody can say that it was not. */
  isOrdering?: true;
  /** Once its boot was ordered: the boot id of before, and by when it has to be back. */
  boot?: { id: string; until: number };
  /** It is back, with the image. */
  isBack?: true;
  /** Its gates are asked, and have not answered. */
  gates?: AskedGates;
  /** They have passed, and it is watched until then. */
  soakUntil?: number;
  /** It failed, and is out of service: it keeps its place until somebody says retry, something else is wanted, or it is gone. */
  isOut?: true;
  /** Its stage was refused: with its place in hand it is asked again, and replaced where that is still so. */
  isRefused?: true;
  replacing?: Replacing;
}

/** It could not be updated, and its maker is to make another in its stead. */
export interface Replacing {
  maker: Maker;
  /** What was wrong, in words. */
  why: string;
  /** It does not answer: nothing can be drained there. */
  isDead: boolean;
  /** Its machine may be deleted by now: its place is kept until the node is gone. */
  isOrdered?: true;
  /** It is. */
  isDeleted?: true;
}

/** What came of one machine at a time (epoch ms). */
export interface Lately {
  /** Refused: it failed on it before, or just now, and may yet be asked again in its turn. */
  is: "Staged" | "Updated" | "Failed" | "Refused";
  templateHash: string;
  at: number;
}

// What a rollout is started with, and how it ends.

/** How long each wait may take, in milliseconds or as "15m"; all of them have documented defaults. */
export interface Deadlines {
  /** machine-controller observes a change and creates or removes the machines it implies. */
  settle: number | string;
  instance: number | string;
  address: number | string;
  registered: number | string;
  ready: number | string;
  drain: number | string;
  gone: number | string;
  /** A halted rollout looks at the world again after this long, even when nothing told it to. */
  recheck: number | string;
}

/** The single argument of `rollOutMachineDeployment`. */
export interface RollOutInput extends PoolRef {
  deadlines?: Partial<Deadlines>;
  /** How often machines that do not join are recreated before the rollout halts. Default 2. */
  attempts?: number;
  /** Only publish, with fresh credentials where they are due; no machine is touched. */
  publishOnly?: boolean;
  /** State of an earlier run of the same chain; written by continue-as-new only. */
  carried?: CarriedState;
}

/** How a run ended. */
export interface RollOutResult {
  outcome: "Converged" | "RolledBack" | "Aborted" | "Published" | "Deleted" | "Gone";
  generation?: number;
  revision?: string;
  image?: string;
  kubelet?: string;
  configDigest?: string;
  replaced: number;
  joins: JoinRecord[];
  replacements: ReplacementRecord[];
}
