/** The desired version of all nodes of scaling groups, and the progress of its rollout. */

/** Stages in order; no group of a stage begins before all groups of the previous stage are done. */
export type VersionStage = "ControlPlane" | "Workers";

/** Groups of one stage. */
export interface StageSurvey {
  groups: number;
  /** Groups whose machines all run the desired version. */
  done: number;
  /**
   * `outdated` counts the nodes whose image or components differ from the desired ones; `skewed` counts only the nodes
   * whose components, such as the kubelet, differ.
   */
  outdated: number;
  skewed: number;
  /**
   * Number of nodes in `skewed` whose machine Ostler ordered (with a PendingNode), and that have no annotation with
   * their components yet.
   */
  unannounced: number;
  /** Groups that are done, or wait for a person or a window. */
  atRest: number;
  /** Some groups whose rollout waits for a person, with the reason. */
  halted: string[];
  /** Some groups that wait for their window without anything in progress, with the reason. */
  waiting: string[];
  /** Groups with something in progress. */
  moving: number;
}

/** A failure that blocks all groups: the reason of the condition Ready, and a message for people. */
export interface VersionTrouble {
  reason: "CloudRefused" | "ImageMissing" | "GroupMissing" | "GroupClaimedTwice" | "KubernetesTooNew";
  message: string;
}

/** One read of a NodeVersion, its groups and their nodes; bounded, whatever their number. */
export type VersionSurvey =
  | { state: "Gone" }
  | {
    state: "Present";
    /**
     * Changes when any field below changes. Ostler's workers with and without setting hands-image compute the same
     * value, so differences that come only from that setting do not count.
     */
    fingerprint: string;
    /** Digest of the current spec. */
    digest: string;
    /** The last stage for which the spec is released; null for none. */
    released: VersionStage | null;
    trouble: VersionTrouble | null;
    stages: Record<VersionStage, StageSurvey>;
    /**
     * Off: none runs. Stopping: all are scaled down, but one still runs. On: at least one is to run, or a cloud moves
     * machines of a group between zones by itself.
     */
    autoscalers: "On" | "Stopping" | "Off";
    /** Whether Ostler keeps some autoscalers off. */
    isHeld: boolean;
    /** Every node runs the desired version, all worker groups use it, and no machine is joining or leaving. */
    isSettled: boolean;
    /** Nodes whose version cannot be determined. */
    invalid: number;
    /**
     * The upgrade of Kubernetes on the control planes; absent if Ostler's worker runs without setting hands-image, and
     * so cannot run orders on nodes.
     */
    upgrade?: VersionUpgrade;
    /** The remaining work, for users. */
    says: string;
  };

/**
 * The reported status of a NodeVersion: its condition Ready, an Event when the reason changes, and the page in the web
 * UI.
 */
export interface VersionStanding {
  /** True when every node runs the desired version and nothing is in progress. */
  ready: "True" | "False";
  reason: string;
  message: string;
}

/**
 * Possible: a separate run can carry out the upgrade. Cancelled: a person cancelled that run, and has not requested
 * another attempt since.
 */
export interface VersionUpgrade {
  state: "Possible" | "Cancelled";
  /** The last report of the run, if the upgrade is not complete; "" without one. */
  says: string;
}

export interface NodeVersionActivities {
  /**
   * Reads the NodeVersion, its groups and their nodes; annotates nodes that lack their version, completes the records
   * of the Constellation node operator, and writes the result to the status of the object.
   */
  surveyNodeVersion(input: { object: ClusterObject }): Promise<VersionSurvey>;
  /** Releases the spec to the groups up to `stage`; fails with "GenerationStale" if the spec no longer has `digest`. */
  ensureStageReleased(input: { object: ClusterObject; stage: VersionStage; digest: string }): Promise<void>;
  /** Ends the release: no further group takes the spec, and groups that took it keep it. */
  ensureReleaseEnded(input: { object: ClusterObject }): Promise<void>;
  /**
   * Turns off every running autoscaler, and the clouds' own moves of machines between zones, until `until` (epoch ms);
   * after that time any client may treat the hold as expired.
   */
  ensureAutoscalersHeld(input: { object: ClusterObject; until: number }): Promise<void>;
  /** Restores the autoscalers and moves that `ensureAutoscalersHeld` turned off. */
  ensureAutoscalersLetGo(input: { object: ClusterObject }): Promise<void>;
  /** Writes the condition Ready of the NodeVersion, and an Event for a new reason. */
  ensureVersionTold(input: { object: ClusterObject; standing: VersionStanding }): Promise<void>;
}

export interface NodeVersionWaits {
  /** Waits until the fingerprint of the survey changes, or until `until` (epoch ms). */
  awaitNodeVersionChanged(input: { object: ClusterObject; fingerprint: string; until: number }): Promise<void>;
}

/** The result of a run. */
export interface NodeVersionOutcome {
  outcome: "UpToDate" | "Gone";
  says: string;
}

// Discovery of scaling groups in a cloud.

/** Number of groups in the cloud, and names of the ScalingGroups that were created and deleted. */
export interface DiscoveryResult {
  groups: number;
  made: string[];
  removed: string[];
}

export interface DiscoveryActivities {
  /**
   * Creates a ScalingGroup for each group of the cloud that has none; deletes a ScalingGroup if three complete scans
   * did not find its group.
   */
  ensureGroupsDiscovered(input: { object: ClusterObject }): Promise<DiscoveryResult>;
}

/**
 * A cluster-scoped object; `cluster` is the name that Ostler's setting gives to the cluster, absent without that
 * setting.
 */
export interface ClusterObject {
  cluster?: string;
  name: string;
}

// A node that was admitted to the cluster, and the JoiningNode object that states what the node runs.

/**
 * The result for a JoiningNode record. Annotated: the node has the annotations of the record. Expired: no node joined
 * in time. Gone: another client deleted the record. Waiting: the node has not completed its join, and `says` names what
 * it waits for. Without `againMs` the run ends, and the next event that a watch reports starts another run; with
 * `againMs`, this run reads the node again at a signal, or after that many milliseconds.
 */
export type JoiningOutcome =
  | { outcome: "Annotated"; node: string; components: string }
  | { outcome: "Expired"; says: string }
  | { outcome: "Waiting"; says: string; againMs?: number }
  | { outcome: "Gone" };

export interface JoiningActivities {
  /** Annotates the node that a JoiningNode names, and deletes the record then or at its deadline. */
  ensureNodeAnnotated(input: { object: ClusterObject }): Promise<JoiningOutcome>;
}

// The cluster-autoscaler of a cluster, as configured by an AutoscalingStrategy.

/**
 * Kept: the Deployment matches the strategy. Waiting: the Deployment cannot be updated, for the reason that `says`
 * states. Gone: the strategy was deleted.
 */
export type AutoscalerOutcome =
  | { outcome: "Kept" | "Waiting"; reason: string; says: string }
  | { outcome: "Gone" };

export interface AutoscalerActivities {
  /** Updates the Deployment from the strategy and the groups, and the status of the strategy from the cluster. */
  ensureAutoscalerKept(input: { object: ClusterObject }): Promise<AutoscalerOutcome>;
}
