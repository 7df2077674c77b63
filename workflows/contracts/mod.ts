/**
 * What the workflow asks of the world: types only, so the decider never names the doer.
 * Everything here crosses Temporal as plain JSON and carries names, digests and sizes, never secret bytes.
 */
import type { PoolSnapshot } from "./pool.ts";
import type { JoinRecord, PoolEvent, ReplacementRecord, RolloutReport } from "./progress.ts";
import type { DrainOutcome, GateVerdict, JoinDeadlines, JoinVerdict } from "./outcomes.ts";
import type { CarriedState } from "./carried.ts";
import type { Memory, RolloutPlan } from "./memory.ts";
import type { DrainRules, Gate, RepairRules, Rules } from "./rules.ts";

export type * from "./carried.ts";
export type * from "./memory.ts";
export type * from "./outcomes.ts";
export type { Member, MemberPhase, PoolSnapshot } from "./pool.ts";
export type * from "./progress.ts";
export type * from "./rules.ts";

/** What makes and removes the machines of a pool; each kind has its own place in workflow ids. */
export type PoolKind = "MachineDeployment";

/**
 * One pool of machines, which are rolled together. Without a cluster it is one of the installation that has no name for
 * its cluster; without a kind its machines are those of a MachineDeployment.
 */
export interface PoolRef {
  cluster?: string;
  kind?: PoolKind;
  namespace: string;
  name: string;
}

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

/** What a MachineDeployment asks for now. */
export interface Desired {
  generation: number;
  /** Identity of everything a rollout depends on; the controller signals when it changes. */
  observed: string;
  /** The part of it that decides what machines boot with; scaling leaves it alone. */
  change: string;
  /** The same without machine-controller's numbering: equal again when an earlier template is applied again. */
  specHash: string;
  /** Who wrote the template last, as far as the API server knows: a field manager. */
  actor: string;
  /** machine-controller has seen this generation and numbered its template. */
  settled: boolean;
  revision: string;
  templateHash: string;
  replicas: number;
  /** Machines above `replicas` while rolling; with 0 machine-controller removes an old machine first. */
  surge: number;
  image: string;
  kubelet: string;
  profile: { name: string; namespace: string };
}

export type DesiredState =
  | { state: "Gone" }
  | { state: "Deleting" }
  | { state: "Present"; desired: Desired; rules: Rules };

/** A rendered config, by name only. */
export interface Rendering {
  configDigest: string;
  profileVersion: string;
  files: number;
  bytes: number;
}

/** What was published and read back, and until when it can be used. */
export interface Publication {
  artefacts: { kind: string; name: string; digest: string; bytes: number }[];
  /** Nothing that a machine reads was written, the same config got fresh credentials, or something new is out. */
  news: "None" | "Renewed" | "Published";
  /** RFC 3339. Machines must not boot from credentials after this. */
  expiresAt: string;
  renewAt: string;
}

/** How a pool is looked at. */
export interface PoolQuestion {
  pool: PoolRef;
  templateHash: string;
  /** Machines that are Ready but have not passed their gates: not counted as ready. */
  unproven: string[];
  repair: RepairRules;
  /** Members of each group that are listed. */
  limit: number;
}

/** Short, and without any effect. */
export interface ReadActivities {
  readDesired(input: { pool: PoolRef }): Promise<DesiredState>;
  readPool(input: PoolQuestion): Promise<PoolSnapshot>;
  /** What earlier runs left for this one. */
  recall(input: { pool: PoolRef }): Promise<Memory>;
  /** What the rollout would do from here, with a hash that tells a stale plan; bounded. */
  planRollout(input: { pool: PoolRef; templateHash: string }): Promise<RolloutPlan>;
  /** Some pools whose credentials are due, and where to go on looking; bounded, however many there are. */
  listDuePools(input: { after?: string }): Promise<{ pools: DuePool[]; next?: string }>;
}

export interface PublishActivities {
  renderConfig(input: { pool: PoolRef }): Promise<Rendering>;
  publishConfig(input: { pool: PoolRef; revision: string; configDigest: string }): Promise<Publication>;
  ensureRolloutReported(input: { pool: PoolRef; report: RolloutReport; events: PoolEvent[] }): Promise<void>;
}

/** What a template is stamped with, so that machines with another config are replaced. */
export interface TemplateStamp {
  pool: PoolRef;
  /** The template without it: the same config may have been stamped into an earlier one. */
  templateHash: string;
  configDigest: string;
}

/** Change machines and nodes; each is safe to run twice and absent objects count as done. */
export interface WriteActivities {
  ensureVictimMarked(input: { pool: PoolRef; machine: string }): Promise<void>;
  /** Spares a victim; one that is already leaving stays held, unless `letGo` hands it to machine-controller. */
  ensureVictimUnmarked(input: { pool: PoolRef; machine: string; letGo?: boolean }): Promise<void>;
  ensureMachineAdmitted(input: { pool: PoolRef; machine: string }): Promise<void>;
  /** Keeps new pods and the autoscaler off the node. */
  ensureNodeCordoned(input: { pool: PoolRef; machine: string; node: string }): Promise<void>;
  ensureVictimReleased(input: { pool: PoolRef; machine: string; node?: string }): Promise<void>;
  /** Without `drain` machine-controller does not evict its pods first. */
  deleteMachine(input: { pool: PoolRef; machine: string; node?: string; drain?: boolean }): Promise<void>;
  /**
   * Makes the last good template, and the profile it was rendered from, what is desired; a second call does nothing.
   * Refused with "LastGoodMissing" when it cannot be found any more.
   */
  ensureLastGoodRestored(input: { pool: PoolRef; by: string; reason: string }): Promise<{ changed: boolean }>;
  /** Makes the config a change of the template; a second call of the same order does nothing. */
  ensureTemplateStamped(input: TemplateStamp): Promise<void>;
  /** Takes one place of the budget that all pools share, if there is one; else names holders, those of the pool first. */
  ensureSlotTaken(
    input: { pool: PoolRef; machine: string; limit: number },
  ): Promise<{ taken: boolean; holders: string[] }>;
  /** Gives back all places of the pool except those of `machines`. */
  ensureSlotsKept(input: { pool: PoolRef; machines: string[] }): Promise<void>;
  ensurePoolCleanedUp(input: { pool: PoolRef }): Promise<void>;
}

/** Poll with heartbeats until an absolute time (epoch ms). */
export interface AwaitActivities {
  awaitDesiredSettled(input: { pool: PoolRef; until: number }): Promise<DesiredState>;
  /** Ends when the pool looks different, which is true then, at the latest at `until`. */
  awaitPoolChanged(input: PoolQuestion & { fingerprint: string; until: number }): Promise<boolean>;
  awaitMachinesJoined(
    input: { pool: PoolRef; kubelet: string; machines: { machine: string; deadlines: JoinDeadlines }[] },
  ): Promise<JoinVerdict>;
  /** Evicts by `rules` until nothing is left or `until`; forced, it deletes what remains. */
  awaitNodeDrained(
    input: { pool: PoolRef; node: string; until: number; rules: DrainRules; known: string; force: boolean },
  ): Promise<DrainOutcome>;
  /** Asks gates until all have passed, one has failed, or `until`; of a machine, or of a wave without one. */
  awaitGates(
    input: { pool: PoolRef; gates: Gate[]; machine?: string; node?: string; key: string; until: number },
  ): Promise<GateVerdict[]>;
  awaitMachineGone(input: { pool: PoolRef; machine: string; until: number }): Promise<void>;
}

/** Why an activity gave up, sorted by what happens next (see the README, "Errors"). */
export type RefusedType =
  | "ProfileMissing"
  | "ProfileInvalid"
  | "OperatingSystemMismatch"
  | "ProviderUnsupported"
  | "UtilityMismatch"
  | "ProviderConfigInvalid"
  | "CloudConfigInvalid"
  | "ParameterInvalid"
  | "CredentialsMissing"
  | "KubeletVersionInvalid"
  | "KubeletSettingsInvalid"
  | "RenderFailed"
  | "NameCollision"
  | "AccessDenied"
  | "ObjectInvalid"
  | "LastGoodMissing";

export type MootType = "MachineGone" | "GenerationStale";

/** A wait whose deadline passed; the message says what remains. */
export type ExpiredType = "SettleExpired" | "MachineRemains";

/** A broken promise of our own code: tried a few times, then a person or a newer version is needed. */
export type BugType = "InternalError";

export type FailureType = RefusedType | MootType | ExpiredType | BugType | "ApiUnavailable";

/** A pool whose credentials are due. */
export interface DuePool extends PoolRef {
  /** Its last rollout was cancelled: only its credentials are wanted. */
  publishOnly: boolean;
}

/** The single argument of `renewCredentials`. */
export interface RenewInput {
  /** The name of the cluster whose pools they are, where it has one. */
  cluster?: string;
  /** Those of the rollouts that are started. */
  deadlines?: Partial<Deadlines>;
  /** Where an earlier run of the same chain stopped; written by continue-as-new only. */
  carried?: { after: string; pools: number };
}

/** How many pools a chain of runs had renewed. */
export interface RenewResult {
  pools: number;
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
