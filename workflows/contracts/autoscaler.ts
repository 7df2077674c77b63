/** The cluster-autoscaler of a cluster, as an AutoscalingStrategy says. */
import type { ClusterObject } from "./joining.ts";

/** Kept: it is as the strategy says. Waiting: for what `says` names. Gone: there is no strategy. */
export type AutoscalerOutcome =
  | { outcome: "Kept" | "Waiting"; reason: string; says: string }
  | { outcome: "Gone" };

export interface AutoscalerActivities {
  /** Brings the Deployment to what strategy and groups say, and the strategy's status to what is there. */
  ensureAutoscalerKept(input: { object: ClusterObject }): Promise<AutoscalerOutcome>;
}
