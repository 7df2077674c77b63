/**
 * The identity of an installation's cluster, so that two clusters in one Temporal namespace never run each other's
 * workflows.
 */
import type { KubeConfig } from "@kubernetes/client-node";
import type { Logger } from "@temporalio/common";
import { CoreV1Api } from "../activities/kube/client_node.ts";
import { proxiedText, statusOf } from "../activities/kube/status.ts";
import type { Config } from "./config.ts";

export interface ClusterIdentity {
  /** The name that an administrator set; "" without a name. */
  name: string;
  /** UID of namespace kube-system, which lives as long as the cluster; "" if the process is not allowed to read it. */
  uid: string;
}

/**
 * UIDs that this process has read, by kubeconfig. A UID stays valid after the permission to read it is withdrawn,
 * because an API server serves only one cluster.
 */
const proven = new WeakMap<KubeConfig, string>();

/** Reads the identity; without permission the UID is "", unless this process has read it before. */
export async function readClusterIdentity(
  kubeConfig: KubeConfig,
  { cluster: name }: Pick<Config, "cluster">,
  log: Pick<Logger, "warn">,
): Promise<ClusterIdentity> {
  try {
    const { metadata } = await kubeConfig.makeApiClient(CoreV1Api).readNamespace({ name: "kube-system" });
    const uid = metadata?.uid ?? "";
    proven.set(kubeConfig, uid);
    return { name, uid };
  } catch (error) {
    if (statusOf(error) !== 403) throw unreachable(kubeConfig, error);
    const uid = proven.get(kubeConfig) ?? "";
    if (uid === "") log.warn('Failed to identify this cluster: missing permission to get namespace "kube-system"');
    return { name, uid };
  }
}

/** Returns the name of a cluster in messages. */
export function clusterText({ name, uid }: ClusterIdentity): string {
  const proof = uid === "" ? "without a proven identity" : `UID of kube-system "${uid}"`;
  return `${name === "" ? "the cluster without a name" : `cluster "${name}"`} (${proof})`;
}

// With two clusters, the address in the message identifies the unreachable one.
function unreachable(kubeConfig: KubeConfig, error: unknown): Error {
  const { message, cause } = error as Error;
  const why = statusOf(error) === undefined
    ? (cause as Error | undefined)?.message ?? message
    : proxiedText(error) ?? `HTTP ${statusOf(error)}`;
  const server = kubeConfig.getCurrentCluster()?.server ?? "";
  return new Error(`Failed to identify the cluster of the pools at ${server}: ${why}`, { cause: error });
}
