/** Which cluster an installation is of, so that two of them on one Temporal namespace never take each other's runs. */
import type { KubeConfig } from "@kubernetes/client-node";
import type { Logger } from "@temporalio/common";
import { CoreV1Api } from "../activities/kube/client_node.ts";
import { statusOf } from "../activities/kube/status.ts";
import type { Config } from "./config.ts";

export interface ClusterIdentity {
  /** The name that an administrator gave it; "" for none. */
  name: string;
  /** UID of its namespace kube-system, which lives as long as the cluster; "" where that is not proven, as it may not be read. */
  uid: string;
}

/** UIDs that this process has read: one API server is of one cluster, whoever takes away the right to read it. */
const proven = new WeakMap<KubeConfig, string>();

/** Reads the identity. Who may not read the namespace has proven none, unless it could be read before. */
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
    if (uid === "") log.warn('Cannot identify this cluster: missing permission to get namespace "kube-system"');
    return { name, uid };
  }
}

/** How a cluster is named in messages. */
export function clusterText({ name, uid }: ClusterIdentity): string {
  const proof = uid === "" ? "which cannot prove who it is" : `UID of kube-system "${uid}"`;
  return `${name === "" ? "the cluster without a name" : `cluster "${name}"`} (${proof})`;
}

// Of two clusters one may be away: its address tells which.
function unreachable(kubeConfig: KubeConfig, error: unknown): Error {
  const { message, cause } = error as Error;
  const why = statusOf(error) === undefined
    ? (cause as Error | undefined)?.message ?? message
    : `HTTP ${statusOf(error)}`;
  const server = kubeConfig.getCurrentCluster()?.server ?? "";
  return new Error(`Cannot ask the API server of the pools at ${server} which cluster it is: ${why}`, { cause: error });
}
