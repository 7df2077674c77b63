/**
 * Explains the reasons of the conditions KubernetesUpgraded and CertificatesRenewed, and the reasons that their
 * messages quote.
 */
import type { UpgradeFinding, UpgradeRefusal, UpgradeTrouble } from "../contracts/mod.ts";

/** The explanation of one reason, as `ostler explain` shows it; each field is one or two sentences. */
export interface UpgradeReason {
  means: string;
  /** The actions of Ostler without a person. */
  next: string;
  /** The actions of a person. */
  todo: string;
}

/**
 * The next action of Ostler if it reads the state regularly (`reads`), or only once the NodeVersion changes
 * (`readsSpec`).
 */
const reads = "Ostler reads the state again within ten minutes, and continues by itself once the cause is gone.";
const readsSpec = "Ostler reads the NodeVersion again as soon as it changes.";
const nothing = "Nothing.";
/** The next action of Ostler after a failed attempt (`tries`), and after a refusal that needs a person (`keeps`). */
const tries = "Ostler tries again every ten minutes, up to six times.";
const keeps =
  "Ostler begins the upgrade or renewal of no other control plane; if the node of this one is cordoned, it stays cordoned.";
const retry = "Then set annotation ostler.dev/retry-kubernetes of the NodeVersion to a new value.";
/**
 * How a person requests another attempt after a reason that both conditions can have: the message of each condition
 * names the annotation to set.
 */
const retryNamed = "Then set the annotation in the message to a new value.";

/**
 * The reasons that the compiler requires in `reasons`; for the reasons not listed here, a test compares `reasons` with
 * the code.
 */
type Named = UpgradeTrouble["reason"] | UpgradeFinding["kind"] | UpgradeRefusal;

const reasons: Record<Named, UpgradeReason> & Record<string, UpgradeReason> = {
  // Reasons that need no person.
  UpToDate: {
    means: "All control planes run the Kubernetes version of the NodeVersion.",
    next: "The groups get the image of the NodeVersion: control planes first, then workers.",
    todo: nothing,
  },
  Checking: {
    means:
      "Ostler checks what can prevent the upgrade: clients of removed APIs, pods that cannot be evicted, problems " +
      "of etcd, nodes that are not Ready, and the plan of kubeadm. Nothing is changed.",
    next: "Then the upgrade waits until nothing prevents it, and for your approval.",
    todo: nothing,
  },
  Upgrading: {
    means:
      "Ostler upgrades one control plane: it drains the node, upgrades the components with kubeadm, then the kubelet.",
    next:
      "The node is uncordoned once it is Ready and healthy in etcd; then the next one begins, the leader of etcd last.",
    todo: nothing,
  },
  EtcdSaved: {
    means: "A snapshot of etcd was stored before a control plane is changed; the message has its location and digest.",
    next: "The upgrade of the control plane begins.",
    todo: "Keep the snapshot until the upgrade is complete: nothing else reverts the upgrade.",
  },
  EtcdNotSaved: {
    means: "A control plane is upgraded without a snapshot of etcd, but only such a snapshot could revert the upgrade.",
    next: "The upgrade continues.",
    todo: "To keep a snapshot before the next control plane, set etcd.snapshot in the RolloutPolicy of its group.",
  },
  ClusterBudget: {
    means:
      "Another control plane is out of service, and only one control plane of the cluster may be out of service at a time.",
    next: "Ostler asks for the slot again every minute.",
    todo: "Wait. If the holder in the message keeps the slot, run ostler status for its group.",
  },
  OutsideWindow: {
    means:
      "The maintenance windows of the control plane's group are closed. An upgrade that has begun is completed anyway.",
    next: "The upgrade continues when the window in the message opens.",
    todo: "Wait, or change the windows of the RolloutPolicy.",
  },
  // Reasons of waits.
  AwaitingApproval: {
    means: "The upgrade is checked, and waits for a person: kubeadm cannot downgrade, so only a restored snapshot of " +
      "etcd reverts the upgrade.",
    next: "Ostler changes nothing before the approval. A new version needs a new approval.",
    todo:
      "Read ostler plan nodeversion/NAME, then set annotation ostler.dev/approved-kubernetes of the NodeVersion to " +
      "the version.",
  },
  ControlPlaneNotReady: {
    means:
      "A control plane is not Ready, so work on no other begins: with two out of service etcd could lose its quorum.",
    next: reads,
    todo: "Bring the named control plane back: check its kubelet and its static pods.",
  },
  DrainBlocked: {
    means: "A pod on the control plane is not evicted; the message names it and what protects it.",
    next:
      "The drain is repeated until its timeout; then the upgrade halts, or the drain is forced if drain.onBlocked of " +
      "the policy is Force.",
    todo: "Run more replicas of that pod, or change its PodDisruptionBudget.",
  },
  EtcdInDoubt: {
    means: "A member of etcd is unhealthy, or its state is unknown, so no control plane is taken out of service.",
    next: "Ostler reads etcd again every minute, or every ten minutes before the upgrade begins, and then continues.",
    todo: 'Fix the named member: docs/how-to/control-planes.md, "Fix EtcdInDoubt".',
  },
  PolicyConflict: {
    means: "Two RolloutPolicies select the control plane's group equally well, or its policy is invalid.",
    next: "Ostler reads the policies again every minute.",
    todo: "Make the selector of one RolloutPolicy more specific, or delete one.",
  },
  ApiUnavailable: {
    means: "The API server does not answer, or no pod of Ostler's worker carries out the step.",
    next: "Ostler repeats the step; the time of an outage does not count against any deadline.",
    todo: "If this lasts, check the API server, its load balancer and the pods of Ostler's worker.",
  },
  // Findings of the check.
  ApiRemoved: {
    means: "A client has used an API that the version does not have, or Ostler cannot read which APIs are used.",
    next: reads,
    todo: "Change these clients, then restart the API servers, because each counts such requests until it restarts.",
  },
  DrainImpossible: {
    means: "A pod on a control plane can never be evicted, because its PodDisruptionBudget requires all replicas.",
    next: reads,
    todo: "Change the PodDisruptionBudget, or run more replicas.",
  },
  NodeNotReady: {
    means:
      "A node is not Ready. The upgrade begins when all are Ready, so that older problems are not taken for effects of the upgrade.",
    next: reads,
    todo: "Repair or delete the named nodes.",
  },
  KubeadmRefuses: {
    means: "kubeadm upgrade plan failed on the control plane that would be upgraded first. Nothing was changed.",
    next: reads,
    todo: "Fix what kubeadm reports in the message.",
  },
  // Refusals of the desired version.
  VersionInvalid: {
    means: "The Kubernetes version in the NodeVersion is not a release such as v1.36.1.",
    next: readsSpec,
    todo: "Set spec.kubernetesClusterVersion to a released version.",
  },
  VersionUnknown: {
    means:
      "The version of the cluster, of a control plane or of a node is unknown, so Ostler cannot check the version skew.",
    next: reads,
    todo:
      "Check kube-system/kubeadm-config, the kubelet versions in kubectl get nodes, and the static pods of the named " +
      "control planes.",
  },
  Downgrade: {
    means: "The NodeVersion names an older version than the cluster runs, and kubeadm cannot downgrade.",
    next: readsSpec,
    todo: "Set spec.kubernetesClusterVersion to the version of the cluster, or to a later one.",
  },
  MinorSkipped: {
    means:
      "The version is more than one minor version later than that of a control plane, and kubeadm cannot skip a minor version.",
    next: readsSpec,
    todo: "First set spec.kubernetesClusterVersion to a patch version of the next minor version.",
  },
  KubeletTooNew: {
    means: "A kubelet is newer than the version, and a kubelet must not be newer than its API server.",
    next: reads,
    todo: "Set spec.kubernetesClusterVersion to the version of that kubelet, or to a later one.",
  },
  KubeletTooOld: {
    means:
      "A kubelet is more than three minor versions older than the desired version; Kubernetes does not support that.",
    next: reads,
    todo: "Update or replace the nodes with that kubelet first.",
  },
  ComponentsMissing: {
    means: 'The ConfigMap with the components of the version does not exist, or lacks key "components".',
    next: reads,
    todo: "Create the ConfigMap in kube-system, or correct spec.kubernetesComponentsReference.",
  },
  ComponentsInvalid: {
    means: "The ConfigMap with the components is invalid; the message has the cause.",
    next: reads,
    todo: "Correct the ConfigMap: list kubeadm and kubelet, each with URL, SHA-256 and path.",
  },
  ComponentsChanged: {
    means:
      "The NodeVersion names another ConfigMap of components for a version that some control planes already run; " +
      "Ostler does not replace the components of these control planes.",
    next: readsSpec,
    todo:
      "Set spec.kubernetesComponentsReference to the previous ConfigMap until all control planes run the version. If a " +
      "person upgraded a control plane by hand, set annotation constellation.edgeless.systems/kubernetes-components of " +
      "its Node to the ConfigMap that the NodeVersion names.",
  },
  NotKubeadm: {
    means: "kubeadm did not create this cluster, so Ostler does not upgrade its control planes.",
    next: reads,
    todo: "Upgrade the control planes with the tool that created them.",
  },
  HandsMissing: {
    means: "Ostler's worker lacks setting hands-image, the image of the pods that run orders on nodes, so Ostler " +
      "cannot run orders on nodes.",
    next: "Ostler continues once its worker Deployment has the setting.",
    todo: "Set the setting hands-image of Ostler's worker (docs/explanation/hands.md).",
  },
  ControlPlaneUnknown: {
    means:
      "A control plane cannot be upgraded: its machine is in no ScalingGroup of this NodeVersion, or kubeadm did " +
      "not create it, or no control plane of the cluster is known.",
    next: reads,
    todo: "Correct the ScalingGroup in the message, or the images of the static pods of the node.",
  },
  // Halts.
  UpgradeHalted: {
    means: "A step on a control plane failed; the message has the step and the cause. The other control planes serve.",
    next: "If the message has the time of the next attempt, Ostler tries again at that time; otherwise it waits for " +
      `you. ${keeps}`,
    todo: `Fix the cause on the node. ${retry}`,
  },
  UpgradeCancelled: {
    means: "A person cancelled the run of the upgrade. A control plane under way stays cordoned and half done.",
    next:
      "A new version, other components or a new value of annotation ostler.dev/retry-kubernetes start the next run, " +
      "which continues with that control plane.",
    todo: "To continue, set annotation ostler.dev/retry-kubernetes of the NodeVersion to a new value.",
  },
  DownloadFailed: {
    means: "A node could not download the components of the version.",
    next: tries,
    todo: `Check that the node reaches the URLs in the ConfigMap of the components. ${retry}`,
  },
  HashMismatch: {
    means: "The SHA-256 of a downloaded component is not that in the ConfigMap, so the component was not installed.",
    next: keeps,
    todo: `Find out whether the file or the hash is wrong, then correct the URL or the hash in the ConfigMap. ${retry}`,
  },
  NotFetched: {
    means: "The components are no longer on the node.",
    next: `The next attempt downloads them again. ${tries}`,
    todo: nothing,
  },
  KubeadmRefused: {
    means:
      "kubeadm failed on the node; the message has its last lines. The static pods of the node may run either version.",
    next: keeps,
    todo: `Fix what kubeadm reports, or do its work by hand: Ostler recognizes the result. ${retryNamed}`,
  },
  KubeletFailed: {
    means: "The new kubelet did not start, or the old one could not be replaced.",
    next: keeps,
    todo: `See journalctl -u kubelet on the node, and fix it. ${retry}`,
  },
  ToolMissing: {
    means: "The node lacks a program that the step needs.",
    next: keeps,
    todo: `Install the program in the message. ${retryNamed}`,
  },
  // Reasons of CertificatesRenewed alone.
  CertificatesRenewed: {
    means: "No certificate of the control planes' servers expires soon.",
    next: "Ostler renews certificates once less than a third of their life is left.",
    todo: nothing,
  },
  Renewing: {
    means: "One control plane gets new certificates from kubeadm, and its static pods restart one after the other.",
    next: "The next control plane begins once this one serves its new certificates and is healthy in etcd.",
    todo: nothing,
  },
  RenewalOff: {
    means: "A person turned the renewal of certificates off, with annotation ostler.dev/renew-certificates: Off.",
    next: "Ostler shows when certificates expire, and renews none.",
    todo: "To turn the renewal on, remove that annotation of the NodeVersion.",
  },
  RenewalHalted: {
    means: "The certificates of a control plane could not be renewed, or the control plane is not healthy with them.",
    next:
      "Ostler tries again every ten minutes, up to six times, unless the message names no next attempt; no other control " +
      "plane begins meanwhile. A machine that is not Ready gives its slot back, so that it can be repaired.",
    todo: "Fix the cause in the message, then set annotation ostler.dev/renew-certificates to a new value.",
  },
  RenewalCancelled: {
    means: "A person cancelled the renewal of certificates.",
    next: "Ostler renews no certificate of this NodeVersion before its spec or the annotation changes.",
    todo: "To allow it again, set annotation ostler.dev/renew-certificates to a new value.",
  },
  AuthorityExternal: {
    means: "The node does not have the key of a certificate authority, so kubeadm cannot renew certificates there.",
    next: "No certificate of the control plane is renewed.",
    todo: `Renew the certificates where the key of the authority is, and copy them to the node. ${retryNamed}`,
  },
  RestartFailed: {
    means: "A static pod could not be restarted, so it does not use renewed certificates.",
    next: "The renewal of no other control plane begins.",
    todo: `Fix the pod or the manifest that the message names. ${retryNamed}`,
  },
  // Failures of requests.
  AccessDenied: {
    means: "The API server denied a request of Ostler's worker.",
    next: reads,
    todo:
      "Apply deploy/kubernetes or the chart of this version of Ostler: Ostler's worker lacks the permission in the message.",
  },
  ObjectInvalid: {
    means: "The API server or Ostler refused a request as invalid.",
    next: reads,
    todo: "Correct the object in the message; the CRDs and admission policies must be of the same version as Ostler.",
  },
  CloudRefused: {
    means: "The cloud refused a request, or no cloud is configured, so the machines of control planes are unknown.",
    next: reads,
    todo: "Check setting --cloud of Ostler's worker, and its permissions in the cloud.",
  },
  ControlPlaneRefused: {
    means: "Ostler refused an order because its node is not a control plane.",
    next: reads,
    todo: "Check the label node-role.kubernetes.io/control-plane of the node.",
  },
  EtcdAccessMissing: {
    means: "Ostler's worker has no valid client certificate for etcd.",
    next: reads,
    todo: "Write Secret kube-system/ostler-etcd (docs/how-to/control-planes.md).",
  },
  InternalError: {
    means: "An internal error of Ostler occurred again in each attempt.",
    next: reads,
    todo: "Report the message; a newer version continues where this one halted.",
  },
};

/** Returns the explanation of a reason; undefined for an unknown reason. */
export function upgradeReason(reason: string): UpgradeReason | undefined {
  return Object.hasOwn(reasons, reason) ? reasons[reason] : undefined;
}

/** The conditions of a NodeVersion whose reasons this file explains. */
type UpgradeCondition = "KubernetesUpgraded" | "CertificatesRenewed";

const onlyOfRenewals = [
  ...["CertificatesRenewed", "Renewing", "RenewalOff", "RenewalHalted", "RenewalCancelled"],
  ...["AuthorityExternal", "RestartFailed"],
];
const ofBoth = [
  ...["ClusterBudget", "OutsideWindow", "PolicyConflict", "ControlPlaneNotReady", "EtcdInDoubt", "ApiUnavailable"],
  ...["NotKubeadm", "HandsMissing", "ControlPlaneUnknown", "KubeadmRefused", "ToolMissing"],
  // Failures of requests.
  ...["AccessDenied", "ObjectInvalid", "CloudRefused", "ControlPlaneRefused", "EtcdAccessMissing", "InternalError"],
];

/** Returns the conditions that can have a reason, or whose message can quote it. */
export function conditionsOfReason(reason: string): UpgradeCondition[] {
  if (ofBoth.includes(reason)) return ["KubernetesUpgraded", "CertificatesRenewed"];
  return onlyOfRenewals.includes(reason) ? ["CertificatesRenewed"] : ["KubernetesUpgraded"];
}

/** All reasons that are explained. */
export const upgradeReasons: readonly string[] = Object.keys(reasons);
