/** What the workflow asks of the world, by class of timeout and retry. */
import type {
  DesiredState,
  DrainRules,
  Gate,
  PoolQuestion,
  PoolRef,
  PoolSnapshot,
  Relieved,
  RelieveOrder,
} from "./pool.ts";
import type { Memory } from "./memory.ts";
import type { DrainOutcome, GateVerdict, JoinDeadlines, JoinVerdict, Keeping, Unseen } from "./outcomes.ts";
import type { PoolEvent, RolloutPlan, RolloutReport } from "./progress.ts";
import type { DuePool, Published, Renewal, Rest, RestRenewal, TemplateStamp } from "./publication.ts";

/** Short, and without any effect. */
export interface ReadActivities {
  readDesired(input: { pool: PoolRef }): Promise<DesiredState>;
  readPool(input: PoolQuestion): Promise<PoolSnapshot>;
  /** What is desired, and with it the machines as long as that is what the question is about; else null. */
  readRound(input: PoolQuestion): Promise<{ seen: DesiredState; pool: PoolSnapshot | null }>;
  /** What earlier runs left for this one. */
  recall(input: { pool: PoolRef }): Promise<Memory>;
  /** What the rollout would do from here, with a hash that tells a stale plan; bounded. */
  planRollout(input: { pool: PoolRef; templateHash?: string }): Promise<RolloutPlan>;
  /** Some pools whose credentials are due, and where to go on looking; bounded, however many there are. */
  listDuePools(input: { after?: string }): Promise<{ pools: DuePool[]; next?: string }>;
}

/** What to publish; `seen` are the identities of what is desired and of what was last good ("" for nothing), as the run knows them. */
export interface PublishInput {
  pool: PoolRef;
  revision: string;
  configDigest?: string;
  seen?: { specHash: string; goodSpecHash: string };
}

export interface PublishActivities {
  /** Renders first; with a digest, moot when another config is rendered by now. */
  publishConfig(input: PublishInput): Promise<Published>;
  /** Renews the credentials in what stands published, where they are due; for a pool that cannot be rendered. */
  ensureCredentialsRenewed(input: { pool: PoolRef }): Promise<Renewal>;
  /** Renews the credentials of a pool at rest, without a rollout, and notes it on the Rollout; or says that one is needed. */
  ensureRestRenewed(input: { pool: PoolRef; rest: Rest }): Promise<RestRenewal>;
  ensureRolloutReported(input: { pool: PoolRef; report: RolloutReport; events: PoolEvent[] }): Promise<void>;
}

/** Change machines and nodes; each is safe to run twice and absent objects count as done. */
export interface WriteActivities {
  ensureVictimMarked(input: { pool: PoolRef; machine: string }): Promise<void>;
  /** Spares a victim; one that is already leaving stays held, unless `letGo` hands it to machine-controller. */
  ensureVictimUnmarked(input: { pool: PoolRef; machine: string; letGo?: boolean }): Promise<void>;
  ensureMachineAdmitted(input: { pool: PoolRef; machine: string }): Promise<void>;
  /** Without `drain` machine-controller does not evict its pods first. */
  deleteMachine(input: { pool: PoolRef; machine: string; node?: string; drain?: boolean }): Promise<void>;
  /**
   * Makes the last good template, and the profile it was rendered from, what is desired; a second call does nothing.
   * Refused with "LastGoodMissing" when it cannot be found any more.
   */
  ensureLastGoodRestored(input: { pool: PoolRef; by: string; reason: string }): Promise<{ changed: boolean }>;
  /** Makes the config a change of the template; a second call of the same order does nothing. */
  ensureTemplateStamped(input: TemplateStamp): Promise<void>;
  /** Has another image in the template replace no machine; nothing is written where that cannot be. */
  ensureMachinesKept(input: { pool: PoolRef }): Promise<Keeping>;
  /** Takes one place of the budget that all pools share, if there is one; else names holders, those of the pool first. */
  ensureSlotTaken(
    input: { pool: PoolRef; machine: string; limit: number; of?: BudgetName },
  ): Promise<{ taken: boolean; holders: string[] }>;
  /** Gives back all places of the pool except those of `machines`. */
  ensureSlotsKept(input: { pool: PoolRef; machines: string[]; of?: BudgetName }): Promise<void>;
  ensurePoolCleanedUp(input: { pool: PoolRef }): Promise<void>;
}

/** Whose budget a place is of: that of all pools, unless told. */
export type BudgetName = "Pools" | "ControlPlanes";

/** How a node is drained. */
export interface DrainOrder {
  pool: PoolRef;
  /** Whose node it is. */
  machine: string;
  node: string;
  /** Epoch ms. */
  until: number;
  rules: DrainRules;
  /** The key of the blockers that were told last, "" for none. */
  known: string;
  /** Deletes what is left, whatever protects it. */
  force: boolean;
}

/** What gates are asked: of a machine, or of a wave without one. */
export interface GateQuestion {
  pool: PoolRef;
  gates: Gate[];
  machine?: string;
  node?: string;
  /** Names the attempt or the wave: a Job runs once for each. */
  key: string;
  /** When it was first put (epoch ms), from which the time of each gate counts; else now, as an earlier version asks. */
  since?: number;
  /** Epoch ms. */
  until: number;
}

/**
 * Poll with heartbeats until an absolute time (epoch ms). Those that judge by a deadline give `Unseen` instead, when
 * nobody could look for a while and the answer would be none, or a bad one.
 */
export interface AwaitActivities {
  /** Chooses the victim, admits the newcomer, and sees it join; what its orders took too long is told as `Unseen`. */
  awaitReplacementJoined(
    input: { pool: PoolRef; kubelet: string; victim: string; machine: string; deadlines: JoinDeadlines },
  ): Promise<JoinVerdict | Unseen>;
  /** Cordons the node first, then drains it as `awaitNodeDrained` does. */
  awaitNodeEmptied(input: DrainOrder): Promise<DrainOutcome | Unseen>;
  /** Releases a drained machine and waits until it is gone; `Unseen` where the release came late: then it is still there. */
  awaitVictimGone(
    input: { pool: PoolRef; machine: string; node?: string; until: number },
  ): Promise<Unseen | undefined>;
  awaitDesiredSettled(input: { pool: PoolRef; until: number }): Promise<DesiredState>;
  /** Ends when the pool looks different, which is true then, at the latest at `until`. */
  awaitPoolChanged(input: PoolQuestion & { fingerprint: string; until: number }): Promise<boolean>;
  awaitMachinesJoined(
    input: { pool: PoolRef; kubelet: string; machines: { machine: string; deadlines: JoinDeadlines }[] },
  ): Promise<JoinVerdict | Unseen>;
  /** Evicts by `rules` until nothing is left or `until`; forced, it deletes what remains. */
  awaitNodeDrained(input: DrainOrder): Promise<DrainOutcome | Unseen>;
  /** Asks gates until all have passed, one has failed, or `until`. */
  awaitGates(input: GateQuestion): Promise<GateVerdict[] | Unseen>;
  awaitMachineGone(input: { pool: PoolRef; machine: string; until: number }): Promise<void>;
  /** Has a machine of a control plane hand on what only it has, once nothing about etcd is in doubt; at `until` it says what is. */
  awaitMachineRelieved(input: RelieveOrder & { pool: PoolRef }): Promise<Relieved>;
}
