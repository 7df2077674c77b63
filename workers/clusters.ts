/** The API servers of an installation: one, or those of the management cluster and of the cluster with the pools. */
import type { KubeConfig } from "@kubernetes/client-node";
import type { Logger } from "@temporalio/common";
import { type Cluster, type ClusterMeans, openCluster } from "../activities/cluster.ts";
import { type ConfigTold, connectKube, type Kube, loadKubeConfig } from "../activities/kube/client.ts";
import { HttpsWatch } from "../activities/kube/https_watch.ts";
import { type Config, rateOf } from "./config.ts";

export interface Clusters {
  /** Kubeconfig of the cluster with the pools, machines, nodes and secrets; its name is part of workflow ids. */
  pools: KubeConfig;
  /**
   * Kubeconfig of the cluster with profiles, configs and the objects of Ostler's processes, such as the Lease; the same
   * as `pools` with a single cluster.
   */
  management: KubeConfig;
}

/** Loads the kubeconfigs, and follows changes of those in files; sends no requests. */
export function openClusters(
  config: Config,
  { log, requests }: Pick<ConfigTold, "requests"> & { log: Pick<Logger, "info" | "warn"> },
): Clusters {
  const { kubeconfig, workerClusterKubeconfig } = config;
  const load = (path: string): KubeConfig => loadKubeConfig(path, rateOf(config), { requests, file: log });
  const management = load(kubeconfig);
  return { management, pools: workerClusterKubeconfig === "" ? management : load(workerClusterKubeconfig) };
}

/**
 * Opens the cluster with the pools; its clients send requests about each kind to the cluster that has the objects of
 * this kind.
 */
export function clusterOf(
  { pools, management }: Clusters,
  { namespace }: Pick<Config, "namespace">,
  means: ClusterMeans = {},
): Cluster {
  const kube = streaming(pools);
  const both = management === pools ? kube : { ...kube, management: { kube: streaming(management), namespace } };
  return openCluster(both, means);
}

function streaming(config: KubeConfig): Kube {
  return { ...connectKube(config), watch: new HttpsWatch(config) };
}
