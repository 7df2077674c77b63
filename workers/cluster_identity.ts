/** Which cluster an installation is of, so that two of them on one Temporal namespace never take each other's runs. */
import { CoreV1Api } from "@kubernetes/client-node";
import type { KubeConfig } from "@kubernetes/client-node";
import type { Logger } from "@temporalio/common";
import { statusOf } from "../activities/kube/status.ts";
import type { Config } from "./config.ts";

export interface ClusterIdentity {
  /** The name that an administrator gave it; "" for none. */
  name: string;
  /** UID of its namespace kube-system, which lives as long as the cluster; "" where it may not be read. */
  uid: string;
}

/** Reads the identity; who may not read the namespace goes without its UID, as before it was looked at. */
export async function readClusterIdentity(
  kubeConfig: KubeConfig,
  { cluster: name }: Pick<Config, "cluster">,
  log: Pick<Logger, "warn">,
): Promise<ClusterIdentity> {
  try {
    const { metadata } = await kubeConfig.makeApiClient(CoreV1Api).readNamespace({ name: "kube-system" });
    return { name, uid: metadata?.uid ?? "" };
  } catch (error) {
    if (statusOf(error) !== 403) throw error;
    log.warn('Cannot tell this cluster from others: reading namespace "kube-system" is not allowed');
    return { name, uid: "" };
  }
}

/** How a cluster is named in messages. */
export function clusterText({ name, uid }: ClusterIdentity): string {
  return `${name === "" ? "the cluster without a name" : `cluster "${name}"`} (UID of kube-system "${uid}")`;
}
