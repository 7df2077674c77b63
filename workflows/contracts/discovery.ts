/** Finding scaling groups in a cloud. */
import type { ClusterObject } from "./joining.ts";

/** Groups of the cloud, and the objects that were made, and removed. */
export interface DiscoveryResult {
  groups: number;
  made: string[];
  removed: string[];
}

export interface DiscoveryActivities {
  /** Makes an object for each group that has none; removes one whose group three whole looks have not found. */
  ensureGroupsDiscovered(input: { object: ClusterObject }): Promise<DiscoveryResult>;
}
