import { Buffer } from "node:buffer";
import type { RenderFacts } from "./facts.ts";
import { yamlString } from "./generators/yaml_text.ts";

/**
 * Returns the address and CA of the API server for machines; setting `overrideBootstrapKubeletApiserver`, if given,
 * replaces the address.
 */
export function machineCluster(
  { cluster, settings }: Pick<RenderFacts, "cluster"> & {
    settings: Pick<RenderFacts["settings"], "overrideBootstrapKubeletApiserver">;
  },
): RenderFacts["cluster"] {
  return { ...cluster, apiServer: settings.overrideBootstrapKubeletApiserver || cluster.apiServer };
}

/**
 * Returns the kubeconfig that a kubelet bootstraps with, byte for byte as Operating System Manager writes it: one
 * cluster, one user with a token, one context; short names save bytes of user-data.
 */
export function bootstrapKubeconfig({ apiServer, caPem }: RenderFacts["cluster"], token: string): string {
  return `apiVersion: v1
clusters:
- cluster:
    certificate-authority-data: ${Buffer.from(caPem).toString("base64")}
    server: ${yamlString(apiServer)}
  name: c
contexts:
- context:
    cluster: c
    user: c
  name: c
current-context: c
kind: Config
users:
- name: c
  user:
    token: ${yamlString(token)}
`;
}
