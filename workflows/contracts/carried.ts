/** What continue-as-new hands to the next run of a chain: the lasting part of each group of a run's state. */
import type { LastGood, Quarantined, Request, Rollback } from "./memory.ts";
import type { AskedPlan, PlanTerms } from "./plan.ts";
import type { JoinRecord, ReplacementRecord } from "./progress.ts";
import type { AskedGates, Boot, Draining, Lately, Updating } from "./under_way.ts";
import type { WaveCount, WaveState } from "./waves.ts";

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
