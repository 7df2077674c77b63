/** The API servers of an installation: one, or that of the management cluster and that of the cluster with the pools. */
import type { KubeConfig } from "@kubernetes/client-node";
import type { Logger } from "@temporalio/common";
import { type Cluster, type ClusterMeans, openCluster } from "../activities/cluster.ts";
import { type ConfigTold, connectKube, type Kube, loadKubeConfig } from "../activities/kube/client.ts";
import { HttpsWatch } from "../activities/kube/https_watch.ts";
import { type Config, rateOf } from "./config.ts";

export interface Clusters {
  /** Has the pools, their machines, nodes and secrets, and is the one that runs are named for. */
  pools: KubeConfig;
  /** Has profiles, configs and what is of our processes, such as the lease; the same where one cluster has all. */
  management: KubeConfig;
}

/** Opens the kubeconfigs, and follows those that are files; asks nobody yet. */
export function openClusters(
  config: Config,
  { log, requests }: Pick<ConfigTold, "requests"> & { log: Pick<Logger, "info" | "warn"> },
): Clusters {
  const { kubeconfig, workerClusterKubeconfig } = config;
  const load = (path: string): KubeConfig => loadKubeConfig(path, rateOf(config), { requests, file: log });
  const management = load(kubeconfig);
  return { management, pools: workerClusterKubeconfig === "" ? management : load(workerClusterKubeconfig) };
}

/** Opens the cluster with the pools; its clients know where each kind is. */
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
