/** A node that was let into the cluster, and whose record says what it runs. */
import type { Unseen } from "./outcomes.ts";

/** An object that is in no namespace; without a cluster it is of the installation whose cluster has no name. */
export interface ClusterObject {
  cluster?: string;
  name: string;
}

/**
 * What became of the record. Annotated: the node bears what it says. Expired: no node came in time. Gone: somebody else
 * deleted it.
 */
export type JoiningOutcome =
  | { outcome: "Annotated"; node: string; components: string }
  | { outcome: "Expired"; says: string }
  | { outcome: "Gone" };

export interface JoiningActivities {
  /** Waits for the node that a JoiningNode names, annotates it, and deletes the record; at its deadline it is deleted all the same. */
  awaitNodeAnnotated(input: { object: ClusterObject }): Promise<JoiningOutcome | Unseen>;
}
