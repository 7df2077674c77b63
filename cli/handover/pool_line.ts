/** A pool in the tables of adopt and release. */
import type { HandoverPool } from "../../activities/handover/pools.ts";

/** The outcome for a pool, as a row. */
export interface PoolLine {
  pool: string;
  /** Name of the profile that renders its config. */
  profile: string;
  /** The config that its machines boot from now. */
  boots: string;
  outcome: string;
  /** The reason, or a hint. */
  note: string;
}

/** Returns the config that the machines of a pool boot from, in words. */
export function bootsOf({ boot, deployment }: HandoverPool): string {
  if (!boot) return "nothing";
  const maker = boot.maker === "Ostler" ? "Ostler's" : boot.maker === "Other" ? "another pool's" : "OSM's";
  const isStale = deployment !== undefined && deployment.revision !== boot.revision;
  return `${maker}, revision ${boot.revision || "unknown"}${isStale ? ` (stale: ${deployment.revision})` : ""}`;
}
