/** The state that continue-as-new hands to the next run: those fields of a run's state that outlive the run. */
import type { LastGood, PlanTerms, Quarantined, Request, Rollback } from "./memory.ts";
import type { AskedPlan, JoinRecord, ReplacementRecord } from "./progress.ts";
import type { PoolRef, WaveCount, WaveState } from "./pool.ts";
import type { Maker } from "./node_update.ts";

/** The lasting part of what a run knows about the desired spec. */
export interface CarriedTarget {
  /**
   * The `specHash` of the desired state to which the rest of the carried state belongs, such as the counts of attempts
   * and failures.
   */
  change: string;
  /**
   * Hash of the template that users' commands and the waves refer to; "" before the first read, and after a run of an
   * earlier version of Ostler.
   */
  template: string;
  /**
   * The stamp that Ostler last wrote into the template because the config had changed: once the template with this
   * stamp is desired, machines that a person skipped stay skipped. False, or null before the first change, if Ostler
   * wrote no stamp; true if the stamp is unknown, for example because an earlier version of Ostler wrote it.
   */
  stamped: string | boolean | null;
  /** When the rollout of this change began (epoch ms). */
  startedAt: number;
  /**
   * Identity (`observed`) of the desired state in the last report before this chain of runs; without such a report, the
   * identity of the first desired state that this chain read.
   */
  startedFor: string;
  /** The config that machines of the desired template first booted with. */
  begun: { templateHash: string; configDigest: string } | null;
}

/**
 * A command that arrived before the run first read the desired state, and waits for that read: its name, and its fields
 * as received.
 */
export interface WaitingCommand {
  name: string;
  fields: Record<string, unknown>;
}

/** Lasting state of people's requests. */
export interface CarriedPeople {
  paused: Request | null;
  /** A requested abort that has not begun. */
  abortAsked: Request | null;
  /** Machines that a person skipped. */
  skipped: string[];
  /**
   * The plan that waits for approval, or was approved; null without such a plan, and after a run of an earlier version
   * of Ostler.
   */
  plan: AskedPlan | null;
  /** Hash of the template whose plan was approved; after a run of an earlier version of Ostler, its `specHash`. */
  approvedPlan: string;
  /** Hash of the approved plan. */
  approvedHash: string;
  /**
   * The approved terms; null without an approval, and after a run of an earlier version of Ostler until the next read.
   */
  approvedTerms: PlanTerms | null;
  /** Time of the last `retry` command (epoch ms, 0 for never), after which gates are evaluated again. */
  retriedAt: number;
  /** Commands that wait for the first read, in the order in which they arrived. */
  waiting: WaitingCommand[];
}

/** Lasting state of the waves. */
export interface CarriedWaves {
  current: WaveState;
  /**
   * The waves of the policy and the number of replicas that the index in `current` refers to; null before the first
   * read.
   */
  countedBy: WaveCount | null;
  /** Whether this rollout has had old machines; without old machines, the run only scales or repairs. */
  rolled: boolean;
  /** The gates of `current` that are being evaluated. */
  gates: AskedGates | null;
}

/** Lasting state of single machines. */
export interface CarriedMachines {
  booting: Record<string, Boot>;
  /**
   * Machines of abandoned changes that had not passed their gates; if their change is applied again, they still have to
   * pass them.
   */
  dropped: Record<string, Boot>;
  draining: Record<string, Draining>;
  /** Machines set aside because they could not be drained. */
  setAside: string[];
  /** Machines that were removed as unhealthy, and for which no new machine has been admitted yet. */
  repaired: string[];
  /** Machines that failed for good and are kept for inspection. */
  failed: string[];
  /** Number of machines that failed for good, including those that are gone. */
  failures: number;
  /**
   * For each machine that was deleted to be recreated: the attempt number of the machine that takes its place. A number
   * is removed once a new machine begins to boot with it.
   */
  retries: number[];
  /** Machines that are being updated in place, from cordon to uncordon. */
  updating: Record<string, Updating>;
  /** Recent results of single machines, which a pool snapshot may not show yet. */
  lately: Record<string, Lately>;
}

/** Machines that joined and machines that were removed, for the query and the result. */
export interface CarriedRecords {
  /** The last hundred machines that joined, the newest last. */
  joins: JoinRecord[];
  /**
   * Number of machines that joined since the rollout began; null before the first join, and after a run of an earlier
   * version of Ostler: then the number is that of `joins`.
   */
  joined: number | null;
  /** The last hundred machines that were replaced, the newest last. */
  replacements: ReplacementRecord[];
  /** Number of all replacements. */
  replaced: number;
}

/** Lasting state of the shared budget. */
export interface CarriedSlots {
  /** The slots that the pool holds, each stored as the name of the machine for which the pool took the slot. */
  held: string[];
  /** Whether a request for a slot got no answer, so that the pool may hold a slot that is not in `held`. */
  isUnanswered: boolean;
}

/** The current rollback, and the lasting state that the Rollout object stores too, so that it outlives the chain. */
export interface CarriedMemory {
  /**
   * Whether the run has read the state that earlier runs stored on the Rollout; before that read, the run must not
   * overwrite the Rollout.
   */
  recalled: boolean;
  quarantine: Quarantined[];
  lastGood: LastGood | null;
  /** Seconds that recent machines took to join, and to be drained and removed; the newest last. */
  usual: { join: number[]; leave: number[] };
  /** The last rollback or abort, until another change converges. */
  lastRollback: Rollback | null;
  /** The rollback in progress, started by policy or by an abort. */
  rollback: Rollback | null;
}

/** Lasting state of the main loop. */
export interface CarriedLoop {
  /** Number of consecutive runs of the chain that ended with an internal error. */
  bugs: number;
  /** Message of the last internal error. */
  bug: string;
}

/** State that outlives continue-as-new, in the same groups as in interface `Rollout` (`state/rollout.ts`). */
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

// Machines in progress, as a run remembers them.

/** Gates that are being evaluated for a machine or a wave. */
export interface AskedGates {
  /** Identifies the machine or wave together with its gates, so that changed gates are evaluated from the start. */
  name: string;
  /** Start of the evaluation (epoch ms); null once the result was inconclusive. */
  since: number | null;
  /** Why the result was inconclusive; empty if it was not. */
  doubt: string;
}

/** A new machine: when it began to boot (epoch ms), and the number of its attempt, from 0. */
export interface Boot {
  since: number;
  attempt: number;
  /**
   * Template hash of the change that the machine was admitted for; earlier versions of Ostler stored neither this hash
   * nor `kubelet`.
   */
  templateHash?: string;
  kubelet?: string;
  /** The highest number of replicas of the pool since the machine was admitted; earlier versions did not store it. */
  replicas?: number;
  /** The machine failed for good and is counted as failed, but is not deleted yet. */
  counted?: true;
  /**
   * The deletion of the machine does not count as a failure to join, because its failure is counted already, or because
   * it never booted.
   */
  isOut?: true;
  /** Gates of a Ready machine that have no result yet. */
  gates?: AskedGates;
}

/** A machine that is being drained or removed: what it ran, and when the drain began (epoch ms). */
export interface Draining {
  since: number;
  templateHash: string;
  image: string;
  kubelet: string;
}

/** A machine that is being updated in place; times in epoch ms. */
export interface Updating {
  since: number;
  /** The target template. */
  templateHash: string;
  image: string;
  /** Start of the drain. */
  drainSince?: number;
  /** The boot is being ordered, so the machine may already have received the order. */
  isOrdering?: true;
  /** Set when the boot was ordered: the previous boot id, and the deadline for the machine to be back. */
  boot?: { id: string; until: number };
  /** The machine has booted again and runs the desired image. */
  isBack?: true;
  /** Gates that are being evaluated and have no result yet. */
  gates?: AskedGates;
  /** The gates have passed, and the machine soaks until this time. */
  soakUntil?: number;
  /** The update failed and the machine is out of service: it keeps its slot until retry, a new change or deletion. */
  isOut?: true;
  /**
   * The machine refused to stage the image. Once the machine has its slot, Ostler repeats the order, and if the machine
   * refuses again, replaces it.
   */
  isRefused?: true;
  replacing?: Replacing;
}

/**
 * Replacement of a machine that could not be updated in place: Ostler deletes the machine, and `maker` recreates it.
 */
export interface Replacing {
  maker: Maker;
  /** Why the update in place failed, for people. */
  why: string;
  /** The machine does not respond, so its node cannot be drained. */
  isDead: boolean;
  /** The machine may already be deleted; its slot is kept until the node is gone. */
  isOrdered?: true;
  /** The machine is deleted. */
  isDeleted?: true;
}

/** The last result for one machine; `at` is its time (epoch ms). */
export interface Lately {
  /**
   * Refused: the machine refused the image, now or earlier; the run may retry when the machine is the next to be
   * updated.
   */
  is: "Staged" | "Updated" | "Failed" | "Refused";
  templateHash: string;
  at: number;
}

// Inputs and results of a rollout.

/** How long each wait may take, in milliseconds or as "15m"; each has a documented default. */
export interface Deadlines {
  /** Until machine-controller has observed a change, or has created or removed a machine that the run waits for. */
  settle: number | string;
  instance: number | string;
  address: number | string;
  registered: number | string;
  ready: number | string;
  drain: number | string;
  gone: number | string;
  /** How long a halted rollout waits before it reads the pool again without a signal. */
  recheck: number | string;
}

/** The single argument of `rollOutMachineDeployment`. */
export interface RollOutInput extends PoolRef {
  deadlines?: Partial<Deadlines>;
  /** How often a machine that does not join is recreated before the rollout halts; the default is 2. */
  attempts?: number;
  /** The run only publishes the config and renews credentials that are due; it changes no machine. */
  publishOnly?: boolean;
  /** State of an earlier run of the same chain; only continue-as-new writes it. */
  carried?: CarriedState;
}

/** The result of a run. */
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
