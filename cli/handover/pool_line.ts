/** A pool in the tables of adopt and release. */
import type { HandoverPool } from "../../activities/handover/pools.ts";

/** The outcome of adopt or release for a pool, as a row. */
export interface PoolLine {
  pool: string;
  /** Name of the profile that renders the pool's config. */
  profile: string;
  /** Owner and revision of the config that the pool's machines currently boot from. */
  boots: string;
  outcome: string;
  /** Why the pool has this outcome, or a hint; "" without either. */
  note: string;
}

/** The config that Ostler would publish for a pool, as a row. */
export interface ConfigLine {
  pool: string;
  /** The profile as "namespace/name", and the version that it will have when Ostler runs. */
  profile: string;
  profileVersion: string;
  /**
   * "refused", "new" if no config is published yet, "unchanged", or the number of files that differ from the published
   * one.
   */
  config: string;
  /** Files of machines that differ, without their contents, which can have secrets. */
  changes: { phase: string; path: string; change: "Added" | "Changed" | "Removed" }[];
  refusal?: { reason: string; message: string };
  warnings: string[];
}

/** Returns the owner and the revision of the config that the machines of a pool boot from, as text. */
export function bootsOf({ boot, deployment }: HandoverPool): string {
  if (!boot) return "nothing";
  const maker = boot.maker === "Ostler" ? "Ostler's" : boot.maker === "Other" ? "another pool's" : "OSM's";
  const isStale = deployment !== undefined && deployment.revision !== boot.revision;
  return `${maker}, revision ${boot.revision || "unknown"}${
    isStale ? ` (stale: the pool has revision ${deployment.revision})` : ""
  }`;
}
