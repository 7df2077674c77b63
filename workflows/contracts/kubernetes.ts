/**
 * Upgrades of a cluster's Kubernetes version: kubeadm upgrades the control planes of a NodeVersion to its Kubernetes
 * version, in place and one at a time, before any worker gets components of that version.
 */
import type { ClusterObject } from "./node_version.ts";
import type { Unseen } from "./outcomes.ts";

/** A control plane and what it runs; versions are like "v1.36.1", and "" if unknown. */
export interface ControlPlaneState {
  /** Name and uid of the Node; a later Node of the same name is a different node. */
  node: string;
  uid: string;
  /** Name of the control plane's ScalingGroup, and the ID of the control plane's machine in that group. */
  group: string;
  machine: string;
  kubelet: string;
  /** The oldest version among the control plane's API server, controller manager and scheduler. */
  components: string;
  isReady: boolean;
  /** Whether the control plane's etcd member is the leader. */
  isLeader: boolean;
  /** Whether the annotation of the Node names the components of the NodeVersion. */
  isAnnounced: boolean;
  /**
   * Whether the Node has no annotation with components, as after an upgrade by hand or before the annotation of a new
   * machine; absent if the Node has one.
   */
  isUnannotated?: boolean;
  /**
   * Whether this upgrade has a slot for the control plane: the upgrade of this control plane may have begun and has not
   * ended. Only administrators and Ostler can write slots.
   */
  isUnderWay: boolean;
  /**
   * Whether this upgrade has cordoned the control plane, or has found it cordoned by a user. With a cordon
   * but no slot, the upgrade still needs approval, because anyone who may patch nodes can write the cordon.
   */
  isCordoned: boolean;
}

/**
 * Why an upgrade cannot begin or go on until a person changes something; `reason` becomes the reason of the condition.
 */
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

/**
 * One read of everything that an upgrade depends on: the desired version, the control planes, and the versions of all
 * other nodes.
 */
export type UpgradeSurvey =
  | { state: "Gone" }
  | {
    state: "Present";
    /**
     * Changes when any field below changes. Ostler's workers with and without setting hands-image compute the same
     * value, so differences that come only from that setting do not count.
     */
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
    /**
     * Value of annotation ostler.dev/retry-kubernetes, with which a person requests another attempt: each new value
     * requests one. "" without the annotation.
     */
    retry: string;
    trouble: UpgradeTrouble | null;
    controlPlanes: ControlPlaneState[];
    /**
     * The nodes that are not control planes: their number, and their oldest and newest kubelet; both "" if no version
     * is known, or if a kubelet reports a text that is not a version.
     */
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
 * Apply: upgrade the first control plane, and the cluster's configuration. Node: upgrade any other control plane.
 * Kubelet: replace the kubelet, and restart it. Except for Plan, each does nothing if its result already exists.
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
   * The digest in the survey that led to the order. If the digest changes before the node gets the order, the activity
   * fails with "GenerationStale"; if the node already has the order, the activity waits for its result.
   */
  digest: string;
  /** Identifies the attempt: the same order with another token is a new order; at most 63 characters of [a-z0-9-]. */
  token: string;
  /** Deadline for the result (epoch ms). */
  until: number;
}

/**
 * An order to renew the certificates of kubeadm on one control plane, and to restart the static pods that use them.
 * Within an hour after a renewal, another order renews nothing and only completes the restarts.
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

/** Like `OsOutcome`: Unknown if the node did not report a result in time. */
export type UpgradeOutcome =
  | { outcome: "Done"; message: string }
  | { outcome: "Refused"; reason: UpgradeRefusal; message: string }
  | { outcome: "Unknown"; message: string };

/**
 * The reported status of an upgrade: a condition of the NodeVersion, an Event when the reason changes, and the page in
 * the web UI. The condition is True only with reason "UpToDate".
 */
export interface UpgradeStanding {
  reason: string;
  message: string;
}

export interface UpgradeActivities {
  surveyUpgrade(input: { object: ClusterObject }): Promise<UpgradeSurvey>;
  /** Checks removed APIs in use, PodDisruptionBudgets that allow no drain, etcd, and node conditions. */
  checkUpgrade(input: { object: ClusterObject; digest: string }): Promise<UpgradeCheck>;
  /** Annotates the node with the components that it runs now; fails with "MachineGone" if the node has another uid. */
  ensureControlPlaneAnnounced(
    input: { object: ClusterObject; node: string; uid: string; components: string },
  ): Promise<void>;
  /**
   * Uncordons the node if this upgrade has cordoned it; does nothing if the node was deleted, even if a later node has
   * its name.
   */
  ensureControlPlaneUncordoned(input: { object: ClusterObject; node: string; uid: string }): Promise<void>;
  /** Uncordons every node that this upgrade has cordoned, because the NodeVersion was deleted. */
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
 * One read of everything that a renewal of certificates depends on; here `isUnderWay` of a control plane refers to the
 * renewal and not to an upgrade.
 */
export type RenewalSurvey =
  | { state: "Gone" }
  | {
    state: "Present";
    generation: number;
    /** The version that kubeadm recorded for the cluster. */
    cluster: string;
    /**
     * Value of annotation ostler.dev/renew-certificates: "Off" turns renewals off, and any other new value requests
     * another attempt. "" without the annotation.
     */
    setting: string;
    /** The reason of the condition CertificatesRenewed; "" if the NodeVersion does not have the condition. */
    told: string;
    trouble: UpgradeTrouble | null;
    /** Only control planes whose ScalingGroup belongs to the NodeVersion. */
    controlPlanes: RenewalPlane[];
  };

export interface RenewalActivities {
  surveyRenewal(input: { object: ClusterObject }): Promise<RenewalSurvey>;
  /**
   * Reads the certificates of this control plane, even if they were read a moment ago, and writes their expiry to the
   * status of the NodeVersion.
   */
  ensureCertificatesRead(input: { object: ClusterObject; node: string; uid: string }): Promise<void>;
  /** Writes the condition CertificatesRenewed of the NodeVersion, and an Event for a new reason. */
  ensureRenewalReported(input: { object: ClusterObject; standing: UpgradeStanding }): Promise<void>;
}

/** Waits of a renewal; they return `Unseen` in the same cases as the waits of `UpgradeWaits`. */
export interface RenewalWaits {
  awaitRenewalOrdered(input: RenewalOrder): Promise<UpgradeOutcome | Unseen>;
  /**
   * Waits until the static pods of the control plane are Ready and have all restarted since the renewal, its etcd
   * member is healthy, and its servers show certificates that do not expire soon. If that is not so by `until`,
   * `isHealthy` is false.
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
   * Waits until the components of the control plane, with `kubelet` also its kubelet, run `version`, its node is Ready,
   * and its etcd member is healthy; `evidence` is what the last read found. If that is not so by `until` (epoch ms),
   * `isHealthy` is false.
   */
  awaitControlPlaneHealthy(
    input: { object: ClusterObject; node: string; uid: string; version: string; kubelet: boolean; until: number },
  ): Promise<{ isHealthy: boolean; evidence: string } | Unseen>;
  /** Waits until the fingerprint of the survey changes, or until `until` (epoch ms). */
  awaitUpgradeChanged(input: { object: ClusterObject; fingerprint: string; until: number }): Promise<void>;
}
