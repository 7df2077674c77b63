/** The kubeconfig a kubelet bootstraps with; short names save bytes of user-data. */
import { dumpYaml } from "@kubernetes/client-node";
import { Buffer } from "node:buffer";
import type { ClusterInfo } from "./cluster_info.ts";

/** One cluster, one user with a token, one context; byte for byte as Operating System Manager writes it. */
export function bootstrapKubeconfig({ apiServer, caPem }: ClusterInfo, token: string): string {
  const caData = Buffer.from(caPem).toString("base64");
  return dumpYaml({
    apiVersion: "v1",
    clusters: [{ cluster: { "certificate-authority-data": caData, server: apiServer }, name: "c" }],
    contexts: [{ context: { cluster: "c", user: "c" }, name: "c" }],
    "current-context": "c",
    kind: "Config",
    users: [{ name: "c", user: { token } }],
  }, { sortKeys: true, seqNoIndent: true, lineWidth: -1 });
}
