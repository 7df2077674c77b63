import type { NodeSettings } from "./node_settings.ts";
import type { ProviderConfig } from "./provider_config.ts";

/** How containerd logs in at one registry; the fields of a Docker config's `auths`. */
export interface RegistryAuth {
  username?: string;
  password?: string;
  auth?: string;
  identitytoken?: string;
}

/** What must never be seen outside a Secret; `hideSecrets` puts placeholders here. */
export interface RenderSecrets {
  /** Reads this pool's two secrets and writes its boot report, nothing else. */
  token: string;
  /** The whole kubeconfig, with the bootstrap token in it. */
  bootstrapKubeconfig: string;
  /** By registry, as written in the credentials secret. */
  registryAuths: Record<string, RegistryAuth>;
  /** Values that the provider spec points at, by `secret:namespace/name/key`, `configmap:namespace/name/key` or `env:NAME`. */
  references: Record<string, string>;
  /** What the random functions of templates start from; nobody can guess what they give who does not know it. */
  seed: string;
}

/** Everything that decides what the machines of one MachineDeployment boot with, read from wherever it lives. */
export interface RenderFacts {
  deployment: {
    namespace: string;
    name: string;
    annotations: Record<string, string>;
    /** `spec.template.spec.versions.kubelet`, as written. */
    kubelet: string;
  };
  provider: ProviderConfig;
  cluster: { apiServer: string; caPem: string };
  settings: NodeSettings;
  secrets: RenderSecrets;
}
