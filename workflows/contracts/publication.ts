/**
 * Configs that machines boot with: rendered, published and read back. Names, digests and sizes only, never the
 * contents.
 */
import type { PoolRef, TrustedCas } from "./pool.ts";
import type { Deadlines } from "./carried.ts";

/** A rendered config: its digest and sizes, not its contents. */
export interface Rendering {
  configDigest: string;
  profileVersion: string;
  files: number;
  bytes: number;
}

/** The published artefacts after they were read back, and until when they are valid. */
export interface Publication {
  artefacts: { kind: string; name: string; digest: string; bytes: number }[];
  /** None: no change to what machines read. Renewed: the same config, new credentials. Published: a new config. */
  news: "None" | "Renewed" | "Published";
  /**
   * RFC 3339. After `expiresAt`, machines must not boot with the credentials; `expiresAt` and `renewAt` are "" without
   * credentials.
   */
  expiresAt: string;
  renewAt: string;
  /** Absent from backends that publish no CA, and from earlier versions. */
  trusted?: TrustedCas;
}

/** The config digest to stamp into a template, so that machines with a different config are replaced. */
export interface TemplateStamp {
  pool: PoolRef;
  /**
   * Hash of the template before the stamp is written. The stamp depends on it, so that no earlier template with the
   * same config has the same stamp.
   */
  templateHash: string;
  configDigest: string;
}

/** The published artefacts and the rendered config. */
export interface Published extends Publication {
  rendering: Rendering;
}

/** The result of renewing the credentials in the published artefacts; times in RFC 3339. */
export type Renewal =
  | { news: "Unpublished" }
  | { news: "None" | "Renewed"; expiresAt: string; renewAt: string };

// Renewal of credentials before they expire.

/** A pool whose credentials are due for renewal. */
export interface DuePool extends PoolRef {
  /** The last rollout was cancelled, so only the credentials are renewed. */
  publishOnly: boolean;
  /** Set if the rollout has converged; while nothing has changed since, no rollout is needed. */
  rest?: Rest;
}

/** The state with which a rollout converged, as recorded on the Rollout. */
export interface Rest {
  observed: string;
  specHash: string;
}

/**
 * The result of renewing the credentials of a pool at rest, times in RFC 3339. RolloutNeeded: the pool has changed
 * since its rollout. Unserved: Ostler no longer manages the pool. None, Renewed: the credentials are fresh.
 */
export type RestRenewal =
  | { news: "RolloutNeeded" | "Unserved" }
  | { news: "None" | "Renewed"; expiresAt: string; renewAt: string };

/** The single argument of `renewCredentials`. */
export interface RenewInput {
  /** Name of the cluster of the pools, if it has one. */
  cluster?: string;
  /** Deadlines of the rollouts that the run starts. */
  deadlines?: Partial<Deadlines>;
  /** Where the previous run of the same chain stopped; only continue-as-new writes it. */
  carried?: { after: string; pools: number };
}

/** Number of pools for which a chain of runs renewed the credentials, or triggered the renewal. */
export interface RenewResult {
  pools: number;
}

// Notifications about a rollout, sent to receivers outside of Kubernetes.

/** The event of a notification; the last three are ends of a rollout. */
export type NoticeKind = "Halted" | "RollingBack" | "AwaitingApproval" | "Converged" | "RolledBack" | "Aborted";

/** A notification about one event of a pool; texts are bounded. */
export interface Notice {
  /** Identifies the event; the same event always has the same id. */
  id: string;
  kind: NoticeKind;
  /** RFC 3339. */
  at: string;
  reason: string;
  message: string;
  revision: string;
  image: string;
}

/** Where notifications are sent: a webhook with a template, or a receiver of CloudEvents. */
export type NoticeTarget = "Webhook" | "CloudEvents";

/** The single argument of `sendNotice`. */
export interface NoticeInput {
  pool: PoolRef;
  notice: Notice;
  to: NoticeTarget[];
}

export interface NoticeActivities {
  /** Delivers a notification to one target. */
  deliverNotice(input: { pool: PoolRef; notice: Notice; target: NoticeTarget }): Promise<void>;
}

// Failure types of activities, grouped by what happens next.

/** Failures that last until a person changes something; docs/how-to/operate.md lists the remedy for each. */
export type RefusedType =
  | "ProfileMissing"
  | "ProfileInvalid"
  | "ProfileNotApproved"
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
  | "CloudRefused"
  | "ControlPlaneRefused"
  | "GroupClaimedTwice"
  | "NodeClaimedTwice"
  | "ImageNotAccepted"
  | "HandsMissing"
  | "EtcdAccessMissing"
  | "LastGoodMissing";

/** Failures of a machine that is updated in place; a pool halts with the failure that reaches the limit `maxFailed`. */
export type UpdateFailureType =
  | "StageRefused"
  | "ApplyRefused"
  | "UpdateRolledBack"
  | "UpdateNotReady"
  | "UpdateNotBooted"
  | "UpdateLost"
  | "GatesFailed";

/** The state changed since the step was planned, so the run plans again. */
export type MootType = "MachineGone" | "GenerationStale";

/** Waits whose deadline passed; the message names what remains. */
export type ExpiredType = "SettleExpired" | "MachineRemains";

/** Internal errors; after a few retries a person or a newer version is needed. */
export type BugType = "InternalError";

/** Temporary failures of a server to respond; retried within bounds. */
export type TransientType = "ApiUnavailable" | "RegistryUnreachable";

export type FailureType = RefusedType | MootType | ExpiredType | BugType | TransientType;
