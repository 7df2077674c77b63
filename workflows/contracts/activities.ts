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
import type { Memory } from "./memory.ts";
import type { DrainOutcome, GateVerdict, JoinDeadlines, JoinVerdict, Keeping, Unseen } from "./outcomes.ts";
import type { PoolEvent, RolloutPlan, RolloutReport } from "./progress.ts";
import type { DuePool, Published, Renewal, Rest, RestRenewal, TemplateStamp } from "./publication.ts";

/** Short activities without side effects. */
export interface ReadActivities {
  readDesired(input: { pool: PoolRef }): Promise<DesiredState>;
  readPool(input: PoolQuestion): Promise<PoolSnapshot>;
  /** Reads the desired state, and the machines if its template is settled and matches the question; else null. */
  readRound(input: PoolQuestion): Promise<{ seen: DesiredState; pool: PoolSnapshot | null }>;
  /** Reads what earlier runs of the pool left on its Rollout. */
  recall(input: { pool: PoolRef }): Promise<Memory>;
  /** Plans the rollout from the current state, with a hash that identifies a stale plan; the result is bounded. */
  planRollout(input: { pool: PoolRef; templateHash?: string }): Promise<RolloutPlan>;
  /** Lists pools whose credentials are due for renewal, in bounded pages; `next` continues the list. */
  listDuePools(input: { after?: string }): Promise<{ pools: DuePool[]; next?: string }>;
}

/** A pool as `publishDesired` found and left it. */
export interface PublishedPool {
  seen: DesiredState;
  /** The state that earlier runs of the pool left on its Rollout. */
  earlier: Memory;
  /** Null for a pool that is deleted, or whose template machine-controller has not numbered yet. */
  published: Published | null;
  /** The machines, if it is certain that the pool never had any; else null. */
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
  /** Renews the credentials of a pool at rest and records it on the Rollout, or returns that a rollout is needed. */
  ensureRestRenewed(input: { pool: PoolRef; rest: Rest }): Promise<RestRenewal>;
  ensureRolloutReported(input: { pool: PoolRef; report: RolloutReport; events: PoolEvent[] }): Promise<void>;
}

/** Activities that change machines and nodes; each is idempotent, and an absent object counts as success. */
export interface WriteActivities {
  ensureVictimMarked(input: { pool: PoolRef; machine: string }): Promise<void>;
  /**
   * Uncordons and unmarks a machine that was to be replaced. A machine that is already being deleted stays held, unless
   * `letGo` releases it to machine-controller.
   */
  ensureVictimUnmarked(input: { pool: PoolRef; machine: string; letGo?: boolean }): Promise<void>;
  ensureMachineAdmitted(input: { pool: PoolRef; machine: string }): Promise<void>;
  /**
   * Deletes a machine; without `drain` machine-controller does not evict its pods first. With `ifNotReady` it fails as
   * moot if the node is Ready again.
   */
  deleteMachine(
    input: { pool: PoolRef; machine: string; node?: string; drain?: boolean; ifNotReady?: boolean },
  ): Promise<void>;
  /**
   * Restores the last good template, and the profile it was rendered from, as the desired state; a second call does
   * nothing. Fails with "LastGoodMissing" if the last good template no longer exists.
   */
  ensureLastGoodRestored(input: { pool: PoolRef; by: string; reason: string }): Promise<{ changed: boolean }>;
  /**
   * Stamps the config digest into the template, which changes the template; a second call does nothing. Returns the
   * stamp; undefined for a deleted pool, and from earlier versions.
   */
  ensureTemplateStamped(input: TemplateStamp): Promise<string | undefined>;
  /** Makes a new image in the template replace no machine; writes nothing if that is impossible. */
  ensureMachinesKept(input: { pool: PoolRef }): Promise<Keeping>;
  /**
   * Takes a slot of the shared budget if one is free that no other pool waits for. Otherwise the pool joins the queue,
   * and the answer lists the holders of slots, those of this pool first.
   */
  ensureSlotTaken(input: SlotOrder): Promise<SlotAnswer>;
  /** Releases all slots of the pool except those of `machines`; without machines the pool also leaves the queue. */
  ensureSlotsKept(input: { pool: PoolRef; machines: string[]; of?: BudgetName }): Promise<void>;
  ensurePoolCleanedUp(input: { pool: PoolRef }): Promise<void>;
}

/** Whether a pool got a slot; `ahead` is how many pools get one before it, absent from earlier versions. */
export interface SlotAnswer {
  taken: boolean;
  holders: string[];
  ahead?: number;
}

/** A machine that needs a slot to be out of service, and the shared budget of the slot. */
export interface SlotOrder {
  pool: PoolRef;
  machine: string;
  /** Number of slots. */
  limit: number;
  /** The budget; by default that of all pools. */
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
   * When the slot of an upgrade of Kubernetes ends unless the same order renews it (epoch ms); at most, and by default, a
   * day from now. A slot of any other pool ends when its Rollout is at rest.
   */
  until?: number;
}

/** The shared budget that a slot belongs to; the default is that of all pools. */
export type BudgetName = "Pools" | "ControlPlanes";

/** How a node is drained. */
export interface DrainOrder {
  pool: PoolRef;
  /** The machine that the node belongs to. */
  machine: string;
  node: string;
  /** Epoch ms. */
  until: number;
  rules: DrainRules;
  /** The key of the blockers that were reported last, "" for none. */
  known: string;
  /** Deletes the remaining pods, whatever protects them. */
  force: boolean;
  /** Holds the cordon instead of the pool, so that no run of the pool ends the cordon. */
  holder?: PoolRef;
}

/** Gates to evaluate for a machine, or for a wave if `machine` is absent. */
export interface GateQuestion {
  pool: PoolRef;
  gates: Gate[];
  machine?: string;
  node?: string;
  /** Identifies the attempt or the wave, because a Job runs once for each. */
  key: string;
  /** Start of the first evaluation (epoch ms), from which `within` counts; now if absent, as in earlier versions. */
  since?: number;
  /** Epoch ms. */
  until: number;
}

/**
 * Activities that poll with heartbeats until an absolute time (epoch ms). An activity that evaluates a deadline returns
 * `Unseen` if the state could not be read for a while and the result would otherwise be missing or a failure.
 */
export interface AwaitActivities {
  /** Marks `victim`, admits `machine`, and waits until it joins; returns the delay of late writes as `Unseen`. */
  awaitReplacementJoined(
    input: { pool: PoolRef; kubelet: string; victim: string; machine: string; deadlines: JoinDeadlines },
  ): Promise<JoinVerdict | Unseen>;
  /** Cordons the node, then drains it as `awaitNodeDrained` does. */
  awaitNodeEmptied(input: DrainOrder): Promise<DrainOutcome | Unseen>;
  /** Releases a drained machine and waits until it is gone; returns `Unseen` if the release was late and it remains. */
  awaitVictimGone(
    input: { pool: PoolRef; machine: string; node?: string; until: number },
  ): Promise<Unseen | undefined>;
  awaitDesiredSettled(input: { pool: PoolRef; until: number }): Promise<DesiredState>;
  /** Returns true when the pool's fingerprint changes, and false at `until`. */
  awaitPoolChanged(input: PoolQuestion & { fingerprint: string; until: number }): Promise<boolean>;
  awaitMachinesJoined(
    input: { pool: PoolRef; kubelet: string; machines: { machine: string; deadlines: JoinDeadlines }[] },
  ): Promise<JoinVerdict | Unseen>;
  /** Evicts pods by `rules` until none remains or until `until`; with `force` it deletes the remaining pods. */
  awaitNodeDrained(input: DrainOrder): Promise<DrainOutcome | Unseen>;
  /** Evaluates gates until all have passed, one has failed, or `until` is reached. */
  awaitGates(input: GateQuestion): Promise<GateVerdict[] | Unseen>;
  awaitMachineGone(input: { pool: PoolRef; machine: string; until: number }): Promise<void>;
  /**
   * Waits until etcd has no problem, then makes a control plane machine hand over what only it has; returns the
   * remaining problems at `until`.
   */
  awaitMachineRelieved(input: RelieveOrder & { pool: PoolRef }): Promise<Relieved>;
}
