/** What people outside of Kubernetes are told of a rollout. */
import type { PoolRef } from "./pool.ts";

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
