/** Every permission of Ostler's identities, as the API server reports it. */
import type { Process } from "./identities.ts";

/** All permissions by process. A new permission is added here, and to deploy/THREATS.md if it can do harm. */
export const rights: Record<Process, string[]> = {
  controller: [
    "autoscalingstrategies: get list watch",
    "joiningnodes: get list watch",
    "kube-system operatingsystemprofiles osp-ubuntu osp-debian osp-rhel osp-rockylinux osp-amzn2 osp-flatcar " +
    "osp-flatcar-cloud-init: update",
    "kube-system operatingsystemprofiles: create",
    "machinedeployments: get list watch",
    "machines: list watch",
    "machinesets: list watch",
    "namespaces kube-system: get",
    "nodepools: get list watch",
    "nodes: list watch",
    "nodeversions: get list watch",
    "operatingsystemprofiles: get list watch",
    "osimages: get list watch",
    "ostler-system leases: get create update patch",
    "pendingnodes: get list watch",
    "rolloutpolicies: get list watch",
    "rollouts: get list watch",
    "scalinggroups: get list watch",
  ],
  worker: [
    "autoscalingstrategies/status: get patch",
    "autoscalingstrategies: get list watch patch",
    "certificatesigningrequests: get list",
    "cloud-init-settings configmaps: get create patch delete",
    "cloud-init-settings rolebindings: get create update patch delete",
    "cloud-init-settings roles: bind",
    "cloud-init-settings roles: get create update patch delete",
    "cloud-init-settings secrets: get create update patch delete",
    "cloud-init-settings serviceaccounts/token: create",
    "cloud-init-settings serviceaccounts: get create update patch delete",
    "daemonsets: list",
    "default endpointslices: list",
    "events: create patch list",
    "joiningnodes: get list watch delete",
    "kube-public configmaps cluster-info: get",
    "kube-system configmaps ostler-budget ostler-control-planes: patch",
    "kube-system configmaps: get create",
    "kube-system operatingsystemconfigs: get list watch create update patch delete",
    "kube-system secrets: get list create update patch delete",
    "machinedeployments: get list watch patch update",
    "machines: get list watch patch delete",
    "machinesets: get list watch patch",
    "namespaces kube-system: get",
    "nodepools: get list watch patch",
    "nodes: get list watch patch",
    "nodeversions/status: get patch",
    "nodeversions: get list watch",
    "operatingsystemprofiles: get list watch",
    "osimages/status: get patch",
    "osimages: get",
    "pendingnodes/status: get patch",
    "pendingnodes: get list watch create update patch delete",
    "poddisruptionbudgets: list watch",
    "pods/eviction: create",
    "pods: get list delete",
    "replicasets: get",
    "rolloutpolicies: get list",
    "rollouts/status: get update patch",
    "rollouts: get list watch create update patch delete",
    "scalinggroups/status: get patch",
    "scalinggroups: get list watch create patch delete",
    "tokenreviews: create",
  ],
  setup: ["subjectaccessreviews: create"],
  webhook: [
    "mutatingadmissionpolicies hold-new-machines.ostler.dev: get",
    "mutatingadmissionpolicybindings hold-new-machines.ostler.dev: get",
    "mutatingwebhookconfigurations operatingsystemmanager.k8c.io hold-new-machines.ostler.dev: get update",
    "operatingsystemprofiles: get",
    "ostler-system secrets ostler-webhook-authority: get update",
    "ostler-system secrets: create",
    "rollouts: get",
    "validatingwebhookconfigurations operatingsystemmanager.k8c.io hold-new-machines.ostler.dev: get update",
  ],
};

/** The permissions that the setting `approve-joining-nodes` adds to the controller. */
export const approvalRights = [
  "certificatesigningrequests/approval: patch",
  "certificatesigningrequests: list watch",
  "machinesets: get",
  "nodes: get",
  "signers kubernetes.io/kube-apiserver-client-kubelet: approve",
];

/** The additional permissions of a worker that sends orders to the operating systems of nodes. */
export const handsRights = ["ostler-hands pods: create get list watch delete"];

/** The additional permissions of a worker that has the setting `cloud`. */
export const cloudRights = [
  "/metrics: get",
  "kube-system deployments constellation-cluster-autoscaler: get patch",
  "nodes: delete",
];
