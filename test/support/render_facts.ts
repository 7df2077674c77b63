/** Facts of an invented pool, from which tests render a profile; a test sets only the facts that matter to it. */
import { defaultNodeSettings, type NodeSettings, type ProviderConfig, type RenderFacts } from "../../profiles/mod.ts";

export interface FactOverrides {
  deployment?: Partial<RenderFacts["deployment"]>;
  provider?: Partial<ProviderConfig>;
  cluster?: Partial<RenderFacts["cluster"]>;
  settings?: Partial<NodeSettings>;
  secrets?: Partial<RenderFacts["secrets"]>;
}

export const testCa = "-----BEGIN CERTIFICATE-----\nTUlJQg==\n-----END CERTIFICATE-----\n";

/** Returns facts of an Ubuntu pool on kubevirt, replaced by the given overrides. */
export function renderFacts({ deployment, provider, cluster, settings, secrets }: FactOverrides = {}): RenderFacts {
  return {
    deployment: { namespace: "kube-system", name: "pool", annotations: {}, kubelet: "1.36.1", ...deployment },
    provider: {
      cloudProvider: "kubevirt",
      cloudProviderSpec: {},
      operatingSystem: "ubuntu",
      operatingSystemSpec: {},
      ...provider,
    },
    cluster: { apiServer: "https://192.0.2.1:6443", caPem: testCa, ...cluster },
    settings: { ...defaultNodeSettings, clusterDns: ["10.96.0.10"], ...settings },
    secrets: {
      token: "test-token",
      bootstrapKubeconfig: "",
      registryAuths: {},
      references: {},
      seed: "test-seed",
      ...secrets,
    },
  };
}
