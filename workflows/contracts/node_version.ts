/** What all nodes of some scaling groups are to run, and how far they are. */

/** Stages in their order: no group of one begins before those of the stage before are done. */
export type VersionStage = "ControlPlane" | "Workers";

/** Groups of one stage. */
export interface StageSurvey {
  groups: number;
  /** Those whose machines all run what is wanted. */
  done: number;
  /** Nodes that run something else; and of these, those with other components, such as another kubelet. */
  outdated: number;
  skewed: number;
  /** Of these, newcomers that a record tells of, and nobody yet what they run. */
  unannounced: number;
  /** Those that are done, or wait for a person or a window. */
  atRest: number;
  /** Groups whose rollout waits for a person, with its reason; some of them. */
  halted: string[];
  /** The same of those that wait for their window, of which nothing is under way. */
  waiting: string[];
  /** Groups of which something is under way. */
  moving: number;
}

/** What stands in the way of everything: a stable reason, and words for people. */
export interface VersionTrouble {
  reason: "CloudRefused" | "ImageMissing" | "GroupMissing" | "GroupClaimedTwice" | "KubernetesTooNew";
  message: string;
}

/** One look at a NodeVersion, its groups and their nodes; bounded, however many there are. */
export type VersionSurvey =
  | { state: "Gone" }
  | {
    state: "Present";
    /** Changes when anything below does. */
    fingerprint: string;
    /** Of what it asks for now. */
    digest: string;
    /** What is released of that; null for nothing. */
    released: VersionStage | null;
    trouble: VersionTrouble | null;
    stages: Record<VersionStage, StageSurvey>;
    /** Off: none runs. Stopping: all are told to be off, and one still runs. On: one is to run. */
    autoscalers: "On" | "Stopping" | "Off";
    /** Some are off for our sake. */
    isHeld: boolean;
    /** Every node runs what is wanted, groups of workers took it up, and nothing is on its way in or out. */
    isSettled: boolean;
    /** Nodes of which nobody can tell what they run. */
    invalid: number;
    /** What is left, in words. */
    says: string;
  };

/** What is told of it: on the object, in an Event where it is news, and in the web UI. */
export interface VersionStanding {
  /** True when all is as wanted; Unknown while nobody can tell. */
  ready: "True" | "False";
  reason: string;
  message: string;
}

export interface NodeVersionActivities {
  /**
   * Looks at all of it; writes on nodes what they are where nobody has, sees records of the operator of before through, and
   * shows on the object what it has seen.
   */
  surveyNodeVersion(input: { object: ClusterObject }): Promise<VersionSurvey>;
  /** Lets groups up to a stage take up what is asked for; moot where something else is asked for by now. */
  ensureStageReleased(input: { object: ClusterObject; stage: VersionStage; digest: string }): Promise<void>;
  /** Lets no further group take it up: what was released stays with those that took it. */
  ensureReleaseEnded(input: { object: ClusterObject }): Promise<void>;
  /** Turns off every autoscaler that is on, until a time (epoch ms) after which anybody may take that for over. */
  ensureAutoscalersHeld(input: { object: ClusterObject; until: number }): Promise<void>;
  /** Turns on again those that were turned off by this, as they were found. */
  ensureAutoscalersLetGo(input: { object: ClusterObject }): Promise<void>;
  ensureVersionTold(input: { object: ClusterObject; standing: VersionStanding }): Promise<void>;
}

export interface NodeVersionWaits {
  /** Ends when a look would show something else, at the latest at `until` (epoch ms). */
  awaitNodeVersionChanged(input: { object: ClusterObject; fingerprint: string; until: number }): Promise<void>;
}

/** How a run ended. */
export interface NodeVersionOutcome {
  outcome: "UpToDate" | "Gone";
  says: string;
}

// Finding scaling groups in a cloud.

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

// A node that was let into the cluster, and whose record says what it runs.

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

// The cluster-autoscaler of a cluster, as an AutoscalingStrategy says.

/** Kept: it is as the strategy says. Waiting: for what `says` names. Gone: there is no strategy. */
export type AutoscalerOutcome =
  | { outcome: "Kept" | "Waiting"; reason: string; says: string }
  | { outcome: "Gone" };

export interface AutoscalerActivities {
  /** Brings the Deployment to what strategy and groups say, and the strategy's status to what is there. */
  ensureAutoscalerKept(input: { object: ClusterObject }): Promise<AutoscalerOutcome>;
}
