/**
 * Upgrades of a cluster's Kubernetes version: the control planes of a NodeVersion get its version with kubeadm, in
 * place and one at a time, before any worker gets its components.
 */
import type { ClusterObject } from "./node_version.ts";
import type { Unseen } from "./outcomes.ts";

/** A control plane and what it runs; versions are like "v1.36.1", and "" if unknown. */
export interface ControlPlaneState {
  /** Name and uid of the Node; a later Node of the same name is a different node. */
  node: string;
  uid: string;
  /** Name of its ScalingGroup, and the ID of its machine in that group. */
  group: string;
  machine: string;
  kubelet: string;
  /** The oldest version among its API server, controller manager and scheduler. */
  components: string;
  isReady: boolean;
  /** Whether its etcd member leads. */
  isLeader: boolean;
  /** Whether its annotation names the components of the NodeVersion. */
  isAnnounced: boolean;
  /**
   * Whether this upgrade has a slot for it, and has not ended on it; only administrators and Ostler can write slots.
   */
  isUnderWay: boolean;
  /**
   * Whether it has the cordon of this upgrade. The cordon permits nothing by itself, because anyone who may patch nodes
   * can write it.
   */
  isCordoned: boolean;
}

/** Why an upgrade cannot begin or go on until a person changes something; the reason is stable. */
export interface UpgradeTrouble {
  reason:
    | "VersionInvalid"
    | "ComponentsMissing"
    | "ComponentsInvalid"
    | "NotKubeadm"
    | "HandsMissing"
    | "ControlPlaneUnknown";
  message: string;
}

/** One read of an upgrade: the desired version, the control planes, and the versions of all other nodes. */
export type UpgradeSurvey =
  | { state: "Gone" }
  | {
    state: "Present";
    /** Changes when any field below changes, and is the same for workers with and without setting hands-image. */
    fingerprint: string;
    /** Digest of the desired version and of the content of its components. */
    digest: string;
    /** The desired version, and the ConfigMap with its components. */
    version: string;
    components: string;
    /** The version that kubeadm recorded for the cluster. */
    cluster: string;
    /** The version that a person approved; "" for none. */
    approved: string;
    /** The annotation by which a person asks for another attempt; any new value asks once, "" is none. */
    retry: string;
    trouble: UpgradeTrouble | null;
    controlPlanes: ControlPlaneState[];
    /** Oldest and newest kubelet of all other nodes; "" without any. */
    workers: { nodes: number; oldest: string; newest: string };
  };

/**
 * An obstacle to the upgrade. Even an approved upgrade begins only once the obstacle is gone; with `stops` it must be
 * gone before an approval is asked for.
 */
export interface UpgradeFinding {
  kind: "ApiRemoved" | "DrainImpossible" | "EtcdInDoubt" | "KubeadmRefuses" | "NodeNotReady";
  stops: boolean;
  message: string;
}

/** The findings of a check before the upgrade; bounded, whatever the size of the cluster. */
export interface UpgradeCheck {
  digest: string;
  findings: UpgradeFinding[];
}

/**
 * Plan: check with kubeadm whether the cluster can be upgraded. Fetch: download the components and verify their hashes.
 * Apply: upgrade the first control plane, and the cluster's configuration. Node: upgrade any other one. Kubelet:
 * replace the kubelet, and restart it. Except for Plan, each does nothing if its result already exists.
 */
export type UpgradeVerb = "Plan" | "Fetch" | "Apply" | "Node" | "Kubelet";

/** One order to a control plane; an order that is sent twice is carried out once. */
export interface UpgradeOrder {
  object: ClusterObject;
  node: string;
  uid: string;
  verb: UpgradeVerb;
  version: string;
  /**
   * The digest in the survey that led to the order. If it has changed before the node gets the order, the order fails
   * as moot; the result of an order that the node already has is waited for.
   */
  digest: string;
  /** Identifies the attempt, so that it differs from an earlier equal order; at most 63 characters of [a-z0-9-]. */
  token: string;
  /** Deadline for the result (epoch ms). */
  until: number;
}

/**
 * An order to renew the certificates of kubeadm on one control plane, and to restart the static pods that use them.
 * Another order within an hour only completes what is missing.
 */
export interface RenewalOrder {
  object: ClusterObject;
  node: string;
  uid: string;
  /** The version that the control plane runs. */
  version: string;
  /** As in `UpgradeOrder`. */
  token: string;
  until: number;
}

/** Why a control plane refused an order. */
export type UpgradeRefusal =
  | "DownloadFailed"
  | "HashMismatch"
  | "NotFetched"
  | "KubeadmRefused"
  | "KubeletFailed"
  | "ToolMissing"
  | "AuthorityExternal"
  | "RestartFailed";

/** As `OsOutcome`: Unknown if the node did not report a result in time. */
export type UpgradeOutcome =
  | { outcome: "Done"; message: string }
  | { outcome: "Refused"; reason: UpgradeRefusal; message: string }
  | { outcome: "Unknown"; message: string };

/**
 * The reported state of an upgrade: on the NodeVersion, in an Event when it changes, and in the web UI. Reason
 * "UpToDate" is the only one with which the condition is True.
 */
export interface UpgradeStanding {
  reason: string;
  message: string;
}

export interface UpgradeActivities {
  surveyUpgrade(input: { object: ClusterObject }): Promise<UpgradeSurvey>;
  /** Checks removed APIs in use, PodDisruptionBudgets that allow no drain, etcd, and node conditions. */
  checkUpgrade(input: { object: ClusterObject; digest: string }): Promise<UpgradeCheck>;
  /** Annotates the node with the components that it runs now; fails as moot for another node of this name. */
  ensureControlPlaneAnnounced(
    input: { object: ClusterObject; node: string; uid: string; components: string },
  ): Promise<void>;
  /** Ends the cordon of this upgrade, and no other; an absent node, or another node of this name, counts as success. */
  ensureControlPlaneUncordoned(input: { object: ClusterObject; node: string; uid: string }): Promise<void>;
  /** Ends every cordon of this upgrade, as its NodeVersion was deleted. */
  ensureUpgradeEnded(input: { object: ClusterObject }): Promise<void>;
  /** Writes the condition KubernetesUpgraded of the NodeVersion, and an Event for a new reason. */
  ensureUpgradeReported(input: { object: ClusterObject; standing: UpgradeStanding }): Promise<void>;
}

/** A control plane, and which of its certificates expires soon. */
export interface RenewalPlane extends ControlPlaneState {
  /**
   * For people: the certificate of its API server or etcd that expires first, with the time, if it has expired or
   * expires soon; "" if none does.
   */
  due: string;
}

/**
 * One read of a renewal of certificates; here `isUnderWay` of a control plane refers to the renewal and not to an
 * upgrade.
 */
export type RenewalSurvey =
  | { state: "Gone" }
  | {
    state: "Present";
    generation: number;
    /** The version that kubeadm recorded for the cluster. */
    cluster: string;
    /** The annotation with which a person turns renewals off ("Off"), or asks for another attempt; "" for none. */
    setting: string;
    /** The reason of the condition CertificatesRenewed; "" without it. */
    told: string;
    trouble: UpgradeTrouble | null;
    /** Control planes of other groups than the NodeVersion's are left out. */
    controlPlanes: RenewalPlane[];
  };

export interface RenewalActivities {
  surveyRenewal(input: { object: ClusterObject }): Promise<RenewalSurvey>;
  /** Reads the certificates of a control plane at once, and writes them to the status of the NodeVersion. */
  ensureCertificatesRead(input: { object: ClusterObject; node: string; uid: string }): Promise<void>;
  /** Writes the condition CertificatesRenewed of the NodeVersion, and an Event for a new reason. */
  ensureRenewalReported(input: { object: ClusterObject; standing: UpgradeStanding }): Promise<void>;
}

/** As `UpgradeWaits`. */
export interface RenewalWaits {
  awaitRenewalOrdered(input: RenewalOrder): Promise<UpgradeOutcome | Unseen>;
  /**
   * Waits until the static pods of the control plane are Ready and have all restarted since the renewal, its etcd member
   * is healthy, and its servers show certificates that do not expire soon. Returns false if it is not so by `until`.
   */
  awaitCertificatesRenewed(
    input: { object: ClusterObject; node: string; uid: string; until: number },
  ): Promise<{ isHealthy: boolean; evidence: string } | Unseen>;
}

/** Waits return `Unseen` if the state could not be read for a while and the result would otherwise be a failure. */
export interface UpgradeWaits {
  /** Gives the order to the node, and waits for its result. */
  awaitUpgradeOrdered(input: UpgradeOrder): Promise<UpgradeOutcome | Unseen>;
  /**
   * Waits until the control plane runs `version` (its components, or also its kubelet), is Ready, and its etcd member is
   * healthy; the evidence is that of the last read. Returns false if it is not so by `until` (epoch ms).
   */
  awaitControlPlaneHealthy(
    input: { object: ClusterObject; node: string; uid: string; version: string; kubelet: boolean; until: number },
  ): Promise<{ isHealthy: boolean; evidence: string } | Unseen>;
  /** Waits until the fingerprint of the survey changes, or until `until` (epoch ms). */
  awaitUpgradeChanged(input: { object: ClusterObject; fingerprint: string; until: number }): Promise<void>;
}
