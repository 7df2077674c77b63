/** What machines boot with: rendered, published and read back; by name only. */
import type { PoolRef } from "./pool.ts";
import type { Deadlines } from "./carried.ts";

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
  /** RFC 3339. Machines must not boot from credentials after this; "" in both where there are none, and nothing ends. */
  expiresAt: string;
  renewAt: string;
}

/** What a template is stamped with, so that machines with another config are replaced. */
export interface TemplateStamp {
  pool: PoolRef;
  /** The template without it: the same config may have been stamped into an earlier one. */
  templateHash: string;
  configDigest: string;
}

/** What was published, and what was rendered for it. */
export interface Published extends Publication {
  rendering: Rendering;
}

/** What came of renewing the credentials in what stands published; times in RFC 3339. */
export type Renewal =
  | { news: "Unpublished" }
  | { news: "None" | "Renewed"; expiresAt: string; renewAt: string };

// Having credentials renewed before they are old.

/** A pool whose credentials are due. */
export interface DuePool extends PoolRef {
  /** Its last rollout was cancelled: only its credentials are wanted. */
  publishOnly: boolean;
  /** Its rollout has converged: as long as all is as that left it, no other is needed. */
  rest?: Rest;
}

/** What a rollout that converged had seen, as the Rollout tells it. */
export interface Rest {
  observed: string;
  specHash: string;
}

/**
 * What came of renewing the credentials of a pool at rest, times in RFC 3339: something is not as its rollout left it,
 * it is not ours any more, or what stands is fresh now.
 */
export type RestRenewal =
  | { news: "RolloutNeeded" | "Unserved" }
  | { news: "None" | "Renewed"; expiresAt: string; renewAt: string };

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

// What people outside of Kubernetes are told of a rollout.

/** What a notice is about; those at the end are ends. */
export type NoticeKind = "Halted" | "RollingBack" | "AwaitingApproval" | "Converged" | "RolledBack" | "Aborted";

/** One thing that happened to a pool; texts are bounded. */
export interface Notice {
  /** The same for the same thing, however often it is seen. */
  id: string;
  kind: NoticeKind;
  /** RFC 3339. */
  at: string;
  reason: string;
  message: string;
  revision: string;
  image: string;
}

/** Where notices go: a webhook with a template, or a receiver of CloudEvents. */
export type NoticeTarget = "Webhook" | "CloudEvents";

/** The single argument of `sendNotice`. */
export interface NoticeInput {
  pool: PoolRef;
  notice: Notice;
  to: NoticeTarget[];
}

export interface NoticeActivities {
  /** Delivers a notice to one target. */
  deliverNotice(input: { pool: PoolRef; notice: Notice; target: NoticeTarget }): Promise<void>;
}

// Why an activity gave up, sorted by what happens next.

/** Why an activity gave up, sorted by what happens next (docs/how-to/operate.md tells what to do about each). */
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
  | "CloudRefused"
  | "ControlPlaneRefused"
  | "GroupClaimedTwice"
  | "NodeClaimedTwice"
  | "ImageNotAccepted"
  | "HandsMissing"
  | "EtcdAccessMissing"
  | "LastGoodMissing";

/** What went wrong with a machine that is updated in place; a pool halts with the last one that it may not have. */
export type UpdateFailureType =
  | "StageRefused"
  | "ApplyRefused"
  | "UpdateRolledBack"
  | "UpdateNotReady"
  | "UpdateNotBooted"
  | "UpdateLost"
  | "GatesFailed";

export type MootType = "MachineGone" | "GenerationStale";

/** A wait whose deadline passed; the message says what remains. */
export type ExpiredType = "SettleExpired" | "MachineRemains";

/** A broken promise of our own code: tried a few times, then a person or a newer version is needed. */
export type BugType = "InternalError";

/** Who has to answer does not, for now: retried within bounds. */
export type TransientType = "ApiUnavailable" | "RegistryUnreachable";

export type FailureType = RefusedType | MootType | ExpiredType | BugType | TransientType;
