/** What machines boot with: rendered, published and read back; by name only. */
import type { PoolRef } from "./pool.ts";

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
