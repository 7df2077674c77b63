/** The kubeconfig a kubelet bootstraps with; short names save bytes of user-data. */
import { dumpYaml } from "@kubernetes/client-node";
import { Buffer } from "node:buffer";
import type { ClusterInfo } from "./cluster_info.ts";

/** One cluster, one user with a bootstrap token, one context. */
export function bootstrapKubeconfig({ apiServer, caPem }: ClusterInfo, token: string): string {
  const caData = Buffer.from(caPem).toString("base64");
  return dumpYaml({
    apiVersion: "v1",
    kind: "Config",
    clusters: [{ name: "c", cluster: { server: apiServer, "certificate-authority-data": caData } }],
    contexts: [{ name: "c", context: { cluster: "c", user: "c" } }],
    "current-context": "c",
    users: [{ name: "c", user: { token } }],
  });
}
