/** The activities that workflows call, grouped by class of timeout and retry. */
import type {
  DesiredState,
  DrainRules,
  Gate,
  PoolQuestion,
  PoolRef,
  PoolSnapshot,
  Relieved,
  RelieveOrder,
  Urgency,
} from "./pool.ts";
import type { Memory, RestoreOrder } from "./memory.ts";
import type {
  AdmissionOutcome,
  DrainOutcome,
  GateVerdict,
  JoinDeadlines,
  JoinVerdict,
  Keeping,
  Unseen,
} from "./outcomes.ts";
import type { PoolEvent, RolloutPlan, RolloutReport } from "./progress.ts";
import type { DuePool, Published, Renewal, Rest, RestRenewal, TemplateStamp } from "./publication.ts";

/** Short activities without side effects. */
export interface ReadActivities {
  readDesired(input: { pool: PoolRef }): Promise<DesiredState>;
  readPool(input: PoolQuestion): Promise<PoolSnapshot>;
  /**
   * Reads the desired state. Also reads the machines if machine-controller has observed that state and its template has
   * the hash in `input`; otherwise `pool` is null.
   */
  readRound(input: PoolQuestion): Promise<{ seen: DesiredState; pool: PoolSnapshot | null }>;
  /** Reads the state that earlier runs of the pool stored on its Rollout. */
  recall(input: { pool: PoolRef }): Promise<Memory>;
  /**
   * Plans the rollout from the current state; the result is bounded. Fails with "GenerationStale" if `templateHash` is
   * given and another template is desired.
   */
  planRollout(input: { pool: PoolRef; templateHash?: string }): Promise<RolloutPlan>;
  /**
   * Lists one page of the pools whose credentials are due for renewal; `next` is the `after` of the next page, absent
   * after the last page.
   */
  listDuePools(input: { after?: string }): Promise<{ pools: DuePool[]; next?: string }>;
}

/** The result of `publishDesired`. */
export interface PublishedPool {
  seen: DesiredState;
  /** The state that earlier runs of the pool left on its Rollout. */
  earlier: Memory;
  /** Null if the pool is deleted, or if machine-controller has not assigned a revision to its template yet. */
  published: Published | null;
  /**
   * A snapshot without machines if the pool certainly never had any; otherwise null, and the machines have to be read.
   */
  pool: PoolSnapshot | null;
}

export interface PublishActivities {
  /**
   * Reads the desired state, renders its config and publishes it. With `revision` it publishes only that revision, and
   * fails with "GenerationStale" if another one is desired.
   */
  publishDesired(input: { pool: PoolRef; revision?: string }): Promise<PublishedPool>;
  /** Renews due credentials in the published artefacts of a pool that cannot be rendered. */
  ensureCredentialsRenewed(input: { pool: PoolRef }): Promise<Renewal>;
  /**
   * Renews the credentials of a pool whose rollout has converged, and records that on the Rollout. If the pool has
   * changed since, renews nothing and returns RolloutNeeded.
   */
  ensureRestRenewed(input: { pool: PoolRef; rest: Rest }): Promise<RestRenewal>;
  ensureRolloutReported(input: { pool: PoolRef; report: RolloutReport; events: PoolEvent[] }): Promise<void>;
}

/** Activities that change machines and nodes; each is idempotent, and an absent object counts as success. */
export interface WriteActivities {
  /** Marks a machine for removal, so that its owner removes this machine next. */
  ensureVictimMarked(input: { pool: PoolRef; machine: string }): Promise<void>;
  /**
   * Uncordons and unmarks a machine that is not replaced after all. A machine that is already being deleted stays held,
   * unless `letGo` releases it to machine-controller.
   */
  ensureVictimUnmarked(input: { pool: PoolRef; machine: string; letGo?: boolean }): Promise<void>;
  /** Admits a new machine that is held, which then boots; with `anyAge` also one that was held for too long. */
  ensureMachineAdmitted(input: { pool: PoolRef; machine: string; anyAge?: true }): Promise<AdmissionOutcome>;
  /**
   * Deletes a machine; without `drain` machine-controller does not evict its pods first. With `ifNotReady`, deletes
   * nothing and fails with "GenerationStale" if the node is Ready again.
   */
  deleteMachine(
    input: { pool: PoolRef; machine: string; node?: string; drain?: boolean; ifNotReady?: boolean },
  ): Promise<void>;
  /**
   * Restores the last good template, and the profile it was rendered from, as the desired state; a second call does
   * nothing, and neither does a call with `bad` if another change is desired by now. Fails with "LastGoodMissing" if
   * the last good template no longer exists.
   */
  ensureLastGoodRestored(input: RestoreOrder): Promise<{ changed: boolean }>;
  /**
   * Stamps the config digest into the template, which changes the template; a second call does nothing. Returns the
   * stamp; undefined for a deleted pool, and from earlier versions of Ostler.
   */
  ensureTemplateStamped(input: TemplateStamp): Promise<string | undefined>;
  /**
   * Prevents a new image in the template from replacing machines; writes nothing and returns Refused if that is
   * impossible.
   */
  ensureMachinesKept(input: { pool: PoolRef }): Promise<Keeping>;
  /**
   * Takes a slot of the shared budget, if a slot is free that no other pool gets first. Otherwise puts the pool into
   * the queue, and returns the holders of slots, those of this pool first.
   */
  ensureSlotTaken(input: SlotOrder): Promise<SlotAnswer>;
  /** Releases all slots of the pool except those of `machines`; without machines the pool also leaves the queue. */
  ensureSlotsKept(input: { pool: PoolRef; machines: string[]; of?: BudgetName }): Promise<void>;
  ensurePoolCleanedUp(input: { pool: PoolRef }): Promise<void>;
}

/**
 * Whether a pool got a slot. `ahead` is the number of pools that get a slot before this pool; earlier versions of
 * Ostler omit it.
 */
export interface SlotAnswer {
  taken: boolean;
  holders: string[];
  ahead?: number;
}

/** A machine that needs a slot to be out of service, and the shared budget of the slot. */
export interface SlotOrder {
  pool: PoolRef;
  machine: string;
  /** Number of slots in the shared budget. */
  limit: number;
  /** Pools by default. */
  of?: BudgetName;
  /** Normal by default. */
  urgency?: Urgency;
  /**
   * The machine is already out of service, so it takes a free slot before all pools in the queue, and its pool does not
   * join the queue.
   */
  begun?: boolean;
  /** When the pool first asked for the slot that it waits for (epoch ms). */
  since?: number;
  /**
   * When the slot of an upgrade of Kubernetes or of a renewal of certificates ends unless the same order renews it
   * (epoch ms); at most, and by default, a day from now. The slot of a pool can be taken away once the rollout of that
   * pool has ended.
   */
  until?: number;
}

/**
 * The shared budget that a slot belongs to. Pools: the budget of all pools. ControlPlanes: the budget of all control
 * planes of the cluster, of which only one may be out of service at a time.
 */
export type BudgetName = "Pools" | "ControlPlanes";

/** How a node is drained. */
export interface DrainOrder {
  pool: PoolRef;
  /** The machine that the node belongs to. */
  machine: string;
  node: string;
  /** Deadline (epoch ms). */
  until: number;
  rules: DrainRules;
  /** The key of the blockers that were reported last, "" for none. */
  known: string;
  /** Whether to delete the pods, whatever protects them, instead of evicting them. */
  force: boolean;
  /** The owner of the cordon if it is not the pool, so that no run of the pool ends the cordon. */
  holder?: PoolRef;
}

/** Gates to evaluate for a machine, or for a wave if `machine` is absent. */
export interface GateQuestion {
  pool: PoolRef;
  gates: Gate[];
  machine?: string;
  node?: string;
  /** Identifies this evaluation: the Job of a gate runs once for each key. */
  key: string;
  /**
   * Start of the first evaluation (epoch ms), from which `within` counts; earlier versions of Ostler omit it, which
   * means now.
   */
  since?: number;
  /** Deadline (epoch ms). */
  until: number;
}

/**
 * Activities that poll with heartbeats until an absolute time (epoch ms). If an activity could not read the state for a
 * while, it returns `Unseen` in place of a failure or an incomplete result. The caller then extends the deadline by
 * that time.
 */
export interface AwaitActivities {
  /**
   * Marks `victim` for removal, admits `machine` as `ensureMachineAdmitted` does, and waits until `machine` joins. If an
   * outage delayed a write, returns the length of the outage as `Unseen` and does not wait.
   */
  awaitReplacementJoined(
    input: {
      pool: PoolRef;
      kubelet: string;
      victim: string;
      machine: string;
      anyAge?: true;
      deadlines: JoinDeadlines;
    },
  ): Promise<JoinVerdict | Unseen>;
  /**
   * Cordons the node, then drains it as `awaitNodeDrained` does. If an outage delayed the cordon, returns the length of
   * the outage as `Unseen` and does not drain.
   */
  awaitNodeEmptied(input: DrainOrder): Promise<DrainOutcome | Unseen>;
  /**
   * Releases a drained machine and waits until it is gone. If an outage delayed the release, returns the length of the
   * outage as `Unseen` and does not wait.
   */
  awaitVictimGone(
    input: { pool: PoolRef; machine: string; node?: string; until: number },
  ): Promise<Unseen | undefined>;
  /** Waits until machine-controller has observed the desired state; fails with "SettleExpired" at `until`. */
  awaitDesiredSettled(input: { pool: PoolRef; until: number }): Promise<DesiredState>;
  /** Returns true when the pool's fingerprint changes, and false at `until`. */
  awaitPoolChanged(input: PoolQuestion & { fingerprint: string; until: number }): Promise<boolean>;
  awaitMachinesJoined(
    input: { pool: PoolRef; kubelet: string; machines: { machine: string; deadlines: JoinDeadlines }[] },
  ): Promise<JoinVerdict | Unseen>;
  /** Evicts pods by `rules`, or deletes them with `force`, until none remains or until `until`. */
  awaitNodeDrained(input: DrainOrder): Promise<DrainOutcome | Unseen>;
  /** Evaluates gates until all have passed, one has failed, or `until` is reached. */
  awaitGates(input: GateQuestion): Promise<GateVerdict[] | Unseen>;
  /** Waits until the machine is deleted; fails with "MachineRemains" at `until`. */
  awaitMachineGone(input: { pool: PoolRef; machine: string; until: number }): Promise<void>;
  /**
   * Waits until no problem of etcd blocks the removal of a control plane machine, then moves the leadership of etcd to
   * another member and, with `snapshot`, stores a snapshot. At `until`, returns the remaining problems.
   */
  awaitMachineRelieved(input: RelieveOrder & { pool: PoolRef }): Promise<Relieved>;
}
