/** The objects of a cluster that determine the allowed traffic. */
import type {
  V1LabelSelector,
  V1Namespace,
  V1NetworkPolicyPeer,
  V1NetworkPolicyPort,
  V1ObjectMeta,
  V1Pod,
} from "@kubernetes/client-node";
import { type Selector, selects } from "../../../../activities/kube/status.ts";

/** A NetworkPolicy in the API server's JSON; the client's type has another name for `from`. */
export interface NetworkPolicy {
  metadata?: V1ObjectMeta;
  spec?: {
    podSelector?: V1LabelSelector;
    policyTypes?: string[];
    egress?: { to?: V1NetworkPolicyPeer[]; ports?: V1NetworkPolicyPort[] }[];
    ingress?: { from?: V1NetworkPolicyPeer[]; ports?: V1NetworkPolicyPort[] }[];
  };
}

/** The observed objects of a cluster at one moment. */
export interface ClusterView {
  pods: readonly V1Pod[];
  namespaces: readonly V1Namespace[];
  policies: readonly NetworkPolicy[];
}

/** A pod with its own address, which it keeps until it ends. */
export interface AddressedPod {
  pod: V1Pod;
  address: string;
}

/** Returns the running pods with addresses of their own, which pods in the host network do not have. */
export function addressedPods({ pods }: ClusterView): AddressedPod[] {
  return pods.flatMap((pod) => {
    const address = pod.status?.podIP;
    const hasEnded = ["Succeeded", "Failed"].includes(pod.status?.phase ?? "");
    return address === undefined || pod.spec?.hostNetwork || hasEnded ? [] : [{ pod, address }];
  });
}

/**
 * Returns whether a pod matches the pod selector, and is in a namespace that the namespace selector selects or, without
 * a namespace selector, in `by.namespace`.
 */
export function isChosen(
  view: ClusterView,
  pod: V1Pod,
  by: { podSelector?: V1LabelSelector; namespaceSelector?: V1LabelSelector; namespace: string },
): boolean {
  const { namespace = "", labels } = pod.metadata ?? {};
  const isThere = by.namespaceSelector === undefined
    ? namespace === by.namespace
    : matches(by.namespaceSelector, view.namespaces.find(({ metadata }) => metadata?.name === namespace));
  return isThere && selects((by.podSelector ?? {}) as Selector, labels);
}

function matches(selector: V1LabelSelector, namespace: V1Namespace | undefined): boolean {
  return namespace !== undefined && selects(selector as Selector, namespace.metadata?.labels);
}
