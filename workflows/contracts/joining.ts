/** A node that was let into the cluster, and whose record says what it runs. */

/** An object that is in no namespace; without a cluster it is of the installation whose cluster has no name. */
export interface ClusterObject {
  cluster?: string;
  name: string;
}

/**
 * What became of the record. Annotated: the node bears what it says. Expired: no node came in time. Gone: somebody else
 * deleted it. Waiting: for what `says` names; whoever sees that come starts another run, unless it is to be looked
 * again after `againMs`.
 */
export type JoiningOutcome =
  | { outcome: "Annotated"; node: string; components: string }
  | { outcome: "Expired"; says: string }
  | { outcome: "Waiting"; says: string; againMs?: number }
  | { outcome: "Gone" };

export interface JoiningActivities {
  /** Annotates the node that a JoiningNode names, where it is there, and deletes the record; at its deadline it is deleted all the same. */
  ensureNodeAnnotated(input: { object: ClusterObject }): Promise<JoiningOutcome>;
}
