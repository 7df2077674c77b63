/** A pool in the tables of both commands. */
import type { HandoverPool } from "../../activities/handover/pools.ts";

/** What a pool comes to, as a row. */
export interface PoolLine {
  pool: string;
  /** Of what it would be rendered. */
  profile: string;
  /** What its machines boot from now. */
  boots: string;
  outcome: string;
  /** Why not, or what to know. */
  note: string;
}

/** What its machines boot from, in words. */
export function bootsOf({ boot, deployment }: HandoverPool): string {
  if (!boot) return "nothing";
  const maker = boot.maker === "Ostler" ? "Ostler's" : boot.maker === "Other" ? "another pool's" : "OSM's";
  const isStale = deployment !== undefined && deployment.revision !== boot.revision;
  return `${maker}, revision ${boot.revision || "unknown"}${isStale ? ` (stale: ${deployment.revision})` : ""}`;
}
