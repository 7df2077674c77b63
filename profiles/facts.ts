import type { NodeSettings } from "./node_settings.ts";
import type { ProviderConfig } from "./provider_config.ts";

/** The login of containerd at one registry, with the fields of `auths` in a Docker config. */
export interface RegistryAuth {
  username?: string;
  password?: string;
  auth?: string;
  identitytoken?: string;
}

/** Values that must never be visible outside a Secret; `hideSecrets` replaces them with placeholders. */
interface RenderSecrets {
  /** A token that can read this pool's two secrets and write its boot report, nothing else. */
  token: string;
  /** The whole kubeconfig, including the bootstrap token. */
  bootstrapKubeconfig: string;
  /** Logins by registry, as written in the credentials Secret. */
  registryAuths: Record<string, RegistryAuth>;
  /**
   * Values that the provider spec references, keyed by `secret:namespace/name/key`, `configmap:namespace/name/key` or
   * `env:NAME`.
   */
  references: Record<string, string>;
  /** The seed of the random functions of templates; without it their results cannot be guessed. */
  seed: string;
}

/** A taint of a Node. */
export interface Taint {
  key: string;
  value?: string | undefined;
  effect: string;
}

/** Everything that decides what the machines of one MachineDeployment boot with. */
export interface RenderFacts {
  deployment: {
    namespace: string;
    name: string;
    annotations: Record<string, string>;
    /** `spec.template.spec.versions.kubelet`, as written. */
    kubelet: string;
    /** `spec.template.spec.taints`. */
    taints?: readonly Taint[];
  };
  provider: ProviderConfig;
  cluster: { apiServer: string; caPem: string };
  settings: NodeSettings;
  secrets: RenderSecrets;
}
