import { waitUntil } from "../process/wait_until.ts";
import { ApiConnection, ApiRefusal } from "./api_connection.ts";
import { type ApiServerAddress, clusterInfoKubeconfig } from "./kubeconfig_file.ts";

export interface ClusterInfoOptions {
  readonly adminKubeconfig: string;
  readonly apiServer: ApiServerAddress;
  readonly signal?: AbortSignal;
}

const path = "/api/v1/namespaces/kube-public/configmaps";

/** Makes ConfigMap kube-public/cluster-info, from which joining machines learn the server and its CA. */
export async function publishClusterInfo({ adminKubeconfig, apiServer, signal }: ClusterInfoOptions): Promise<void> {
  using api = await ApiConnection.open(adminKubeconfig);
  const body = {
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { name: "cluster-info", namespace: "kube-public" },
    data: { kubeconfig: clusterInfoKubeconfig(apiServer) },
  };
  // The server makes the namespace itself, but calls itself ready a moment earlier.
  await waitUntil(async (signal) => {
    await api.call({ method: "POST", path, body, signal }).catch((error: unknown) => {
      if (!(error instanceof ApiRefusal && error.status === 409)) throw error;
    });
  }, { what: 'ConfigMap "kube-public/cluster-info"', timeoutMs: 20_000, ...(signal === undefined ? {} : { signal }) });
}
