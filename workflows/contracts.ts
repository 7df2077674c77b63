/**
 * What the workflow asks of the world: types only, so the decider never names the doer.
 * Everything here crosses Temporal as plain JSON and carries names, digests and sizes, never secret bytes.
 */
import type { PoolSnapshot } from "./pool.ts";
import type { JoinRecord, PoolEvent, ReplacementRecord, RolloutReport } from "./progress.ts";

export type { Member, MemberPhase, PoolSnapshot } from "./pool.ts";
export type * from "./progress.ts";

/** One pool of machines: the machines of one MachineDeployment. */
export interface PoolRef {
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
  | { state: "Present"; desired: Desired };

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

/** Absolute times (epoch ms) by which a machine must have reached each rung of the join ladder. */
export interface JoinDeadlines {
  instance: number;
  address: number;
  registered: number;
  ready: number;
}

export type Rung = keyof JoinDeadlines | "gates";

export interface Joined {
  machine: string;
  /** Epoch ms at which its node became Ready. */
  readyAt: number;
  node: string;
  image: string;
  kubelet: string;
}

export interface JoinFailure {
  machine: string;
  rung: Rung;
  /** The last thing known about the machine, in words. */
  evidence: string;
}

export interface JoinVerdict {
  joined: Joined[];
  failed: JoinFailure[];
  /** Machines that somebody removed meanwhile. */
  gone: string[];
}

/** Short and idempotent: run as local activities on the path to published secrets. */
export interface ReadActivities {
  readDesired(input: { pool: PoolRef }): Promise<DesiredState>;
  readPool(input: { pool: PoolRef; templateHash: string }): Promise<PoolSnapshot>;
  /** Some pools whose credentials are due, and where to go on looking; bounded, however many there are. */
  listDuePools(input: { after?: string }): Promise<{ pools: DuePool[]; next?: string }>;
}

export interface PublishActivities {
  renderConfig(input: { pool: PoolRef }): Promise<Rendering>;
  publishConfig(input: { pool: PoolRef; revision: string; configDigest: string }): Promise<Publication>;
  ensureRolloutReported(input: { pool: PoolRef; report: RolloutReport; events: PoolEvent[] }): Promise<void>;
}

/** Change machines and nodes; each is safe to run twice and absent objects count as done. */
export interface WriteActivities {
  ensureVictimMarked(input: { pool: PoolRef; machine: string }): Promise<void>;
  /** Spares a victim; one that is already leaving stays held, unless `letGo` hands it to machine-controller. */
  ensureVictimUnmarked(input: { pool: PoolRef; machine: string; letGo?: boolean }): Promise<void>;
  ensureMachineAdmitted(input: { pool: PoolRef; machine: string }): Promise<void>;
  ensureNodeCordoned(input: { machine: string; node: string }): Promise<void>;
  ensureVictimReleased(input: { pool: PoolRef; machine: string; node?: string }): Promise<void>;
  deleteMachine(input: { pool: PoolRef; machine: string }): Promise<void>;
  ensurePoolCleanedUp(input: { pool: PoolRef }): Promise<void>;
}

/** Poll with heartbeats until an absolute time (epoch ms). */
export interface AwaitActivities {
  awaitDesiredSettled(input: { pool: PoolRef; until: number }): Promise<DesiredState>;
  awaitPoolChanged(
    input: { pool: PoolRef; templateHash: string; fingerprint: string; until: number },
  ): Promise<PoolSnapshot>;
  awaitMachinesJoined(
    input: { pool: PoolRef; kubelet: string; machines: { machine: string; deadlines: JoinDeadlines }[] },
  ): Promise<JoinVerdict>;
  /** Ends when the victim leaves, or when machine-controller has no reason (any more) to remove a machine. */
  awaitVictimLeaving(input: { pool: PoolRef; machine: string; replicas: number; until: number }): Promise<void>;
  awaitNodeDrained(input: { node: string; until: number }): Promise<{ evicted: number }>;
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
  | "ObjectInvalid";

export type MootType = "MachineGone" | "GenerationStale";

/** A wait whose deadline passed; the message says what remains. */
export type ExpiredType = "SettleExpired" | "PodsRemaining" | "VictimNotChosen" | "MachineRemains";

export type FailureType = RefusedType | MootType | ExpiredType | "ApiUnavailable";

/** A pool whose credentials are due. */
export interface DuePool extends PoolRef {
  /** Its last rollout was cancelled: only its credentials are wanted. */
  publishOnly: boolean;
}

/** The single argument of `renewCredentials`. */
export interface RenewInput {
  /** Those of the rollouts that are started. */
  deadlines?: Partial<Deadlines>;
  /** Where an earlier run of the same chain stopped; written by continue-as-new only. */
  carried?: { after: string; pools: number };
}

/** How many pools a chain of runs had renewed. */
export interface RenewResult {
  pools: number;
}

/** State that outlives continue-as-new. */
export interface CarriedState {
  schemaVersion: 1;
  startedAt: number;
  failedMachines: number;
  attempts: { change: string; used: number };
  paused: { by: string; reason: string; since: number } | null;
  /** When each machine that has not joined yet began to boot (epoch ms). */
  booting: Record<string, number>;
  joins: JoinRecord[];
  replacements: ReplacementRecord[];
  replaced: number;
}

/** How a run ended. */
export interface RollOutResult {
  outcome: "Converged" | "Published" | "Deleted" | "Gone";
  generation?: number;
  revision?: string;
  image?: string;
  kubelet?: string;
  configDigest?: string;
  replaced: number;
  joins: JoinRecord[];
  replacements: ReplacementRecord[];
}
